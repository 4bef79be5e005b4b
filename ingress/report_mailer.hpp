// What one thread reports to the core: the reports of one turn of its loop, mailed together.
//
// Invariants:
//  1. Reports are mailed in their order.
//  2. An id is free again only after the end of its request was mailed: a request of the same id,
//     whichever thread has it, begins after that end.
//
// Thread rule: the relay thread. Source: docs/adr/0008-ingress-threads.md.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/once_per_turn.hpp"
#include "ingress/live_ids.hpp"
#include "ingress/report.hpp"

namespace boost::asio {
class io_context;
}

namespace lastcall::ingress {

class ReportMailer {
 public:
  /// Called on the relay thread.
  using Mail = std::function<void(report::Batch)>;

  /// `io` is the thread's loop; it and `ids` outlive this.
  ReportMailer(boost::asio::io_context& io, LiveIds& ids, Mail mail);

  void send(report::Report report);
  /// The request of this id has ended, which was sent before.
  void release(std::string_view id);
  /// Mails what is there without waiting for the end of the turn.
  void post();

 private:
  LiveIds& ids_;
  Mail const mail_;
  report::Batch batch_;
  std::vector<std::string> released_;
  OncePerTurn<boost::asio::io_context> post_soon_;  // together with the turn's other reports
};

}  // namespace lastcall::ingress
