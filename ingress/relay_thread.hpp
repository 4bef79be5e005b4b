// One thread that relays: a loop with a proxy of its own, whose reports are mailed to the core.
//
// Thread rule: calls on the owner's thread; each is carried out on the relay thread.
// Source: docs/adr/0008-ingress-threads.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "ingress/live_ids.hpp"
#include "ingress/mailed_tracker.hpp"
#include "ingress/proxy.hpp"
#include "ingress/report_mailer.hpp"

namespace lastcall::ingress {

class RelayThread {
 public:
  /// The state that the threads share, which outlives them.
  struct Shared {
    LiveIds& ids;
    MemoryBudget& memory;
  };

  RelayThread(Options const& options, Shared const& shared, std::uint64_t first_serial,
              ReportMailer::Mail mail);
  ~RelayThread();
  RelayThread(RelayThread const&) = delete;
  RelayThread& operator=(RelayThread const&) = delete;

  /// Returns an empty text, or the reason why there is no thread.
  std::string start(unsigned number);

  void order(std::function<void(Proxy&)> order);
  void adopt(Accepted accepted);
  void engine_changed(EngineDoubt engine);
  /// Asks whether nothing waits to be written to a client. The answer comes on the relay thread,
  /// once all earlier orders are carried out and their results were mailed.
  void ask(std::function<void(bool is_flushed)> answer);

 private:
  std::unique_ptr<boost::asio::io_context> io_;
  ReportMailer mailer_;
  MailedTracker tracker_;
  std::unique_ptr<Proxy> proxy_;
  std::thread thread_;
};

}  // namespace lastcall::ingress
