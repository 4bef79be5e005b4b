// The report of a fatal error, kept until the supervisor has received it.
//
// Rules:
//  1. Only the first report counts; all reports share its future.
//  2. It is sent on each connection until it is answered.
//  3. It is answered with false once nobody will receive it: without a socket, after give_up(), or
//     in a forked child.
//
// Thread rule: report() from any thread; the rest under the session's mutex. Source: docs/ipc.md,
// 'fatal'.
#pragma once

#include <cstdint>
#include <future>
#include <optional>
#include <string>

#include "ipc/to_supervisor.hpp"
#include "sdk/cpp/outbox.hpp"
#include "sdk/cpp/session_lock.hpp"

namespace lastcall::sdk {

class FatalReport {
 public:
  FatalReport(SessionLock& lock, Outbox& outbox)
      : lock_(lock), outbox_(outbox), nobody_listens_(!outbox.has_socket()) {}

  bool has_socket() const { return outbox_.has_socket(); }
  std::shared_future<bool> report(std::string reason, std::string detail);
  /// A report without an answer is part of the greeting.
  void announce();
  /// The supervisor has answered the line with that number, which need not be the report's.
  void answered(std::uint64_t seq, bool is_error);
  /// There will be no connection any more.
  void give_up();

 private:
  void send();
  void answer(bool is_received);

  SessionLock& lock_;
  Outbox& outbox_;
  bool nobody_listens_;
  std::optional<ipc::Fatal> message_;
  std::optional<std::uint64_t> seq_;
  std::promise<bool> promise_;
  std::shared_future<bool> const future_{promise_.get_future().share()};
  bool is_answered_{};
};

}  // namespace lastcall::sdk
