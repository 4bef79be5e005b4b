// The ends of requests that a supervisor may not have read.
//
// Rules:
//  1. The supervisor is responsible for an end once its line was written completely; until then it
//     is kept, and reported again in the next greeting.
//  2. At most kMaxUnconfirmed ends that are not queued are kept; the oldest are forgotten.
//  3. Ends that are queued come first.
//
// Thread rule: under the session's mutex. Source: docs/ipc.md, 'Reconnecting'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include <lastcall/words.hpp>

#include "ipc/to_supervisor.hpp"
#include "sdk/cpp/outbox.hpp"

namespace lastcall::sdk {

inline constexpr std::size_t kMaxUnconfirmed = 1024;

class EndReports {
 public:
  explicit EndReports(Outbox& outbox) : outbox_(outbox) {}

  std::size_t size() const { return ends_.size(); }
  /// `is_sent` means that the last line of the outbox is the end's; `begin` announces the request
  /// once more.
  void add(ipc::RequestBegin begin, Outcome outcome, bool is_sent);
  void announce();
  /// Lines that were not written completely are reported again later.
  void lost();
  void forget_written();

 private:
  struct Ended {
    std::uint64_t until{};  // position of the end of its line; 0: not queued
    ipc::RequestBegin begin;
    Outcome outcome{};
  };

  Outbox& outbox_;
  std::deque<Ended> ends_;
};

}  // namespace lastcall::sdk
