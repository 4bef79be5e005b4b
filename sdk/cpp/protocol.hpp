// The protocol with the supervisor, from hello to the last answer, and what it is about: one object
// for each subject.
//
// Rules:
//  1. The connection may end at any moment; the greeting of the next one contains everything that
//     the supervisor must know.
//  2. Every line with a `seq` is answered by `ack` or `error`, and these two are not answered.
//  3. In a greeting, what the supervisor must know before it ends a wait precedes the line that
//     ends it: a program that leaves registries, then the fatal report, endpoints and requests.
//
// Thread rule: the subjects and send() from any thread; receive() and refuse() on the thread that
// processes, without the session's mutex; the rest under it. Source: docs/ipc.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ipc/codec.hpp"
#include "ipc/message.hpp"
#include "sdk/cpp/callbacks.hpp"
#include "sdk/cpp/endpoints.hpp"
#include "sdk/cpp/fatal_report.hpp"
#include "sdk/cpp/instance_phase.hpp"
#include "sdk/cpp/ledger.hpp"
#include "sdk/cpp/outbox.hpp"
#include "sdk/cpp/problem_log.hpp"
#include "sdk/cpp/refused_lines.hpp"
#include "sdk/cpp/requests.hpp"
#include "sdk/cpp/session_lock.hpp"

namespace lastcall::sdk {

class Protocol {
 public:
  /// `connection` is null if there is no socket.
  Protocol(SessionLock& lock, ProblemLog& log, ipc::Hello hello, Connection* connection);

  ipc::Hello const& hello() const { return hello_; }
  Requests& requests() { return requests_; }
  Callbacks& callbacks() { return callbacks_; }
  FatalReport& fatal() { return fatal_; }
  Endpoints& endpoints() { return endpoints_; }
  InstancePhase& phase() { return phase_; }
  void send(ipc::ToSupervisor const& message);

  // For the link.
  /// Appends the greeting to a connection that has just been made.
  void greet();
  /// Handles a line; returns false if the connection must be closed.
  bool receive(std::string_view line);
  /// Refuses a line that cannot be used.
  void refuse(ipc::DecodeError const& problem);
  /// The connection is about to end; returns whether it had a welcome.
  bool lost(Clock::time_point now, Later& later);
  /// Sends and starts whatever is due; returns the time at which something is due next.
  std::optional<Clock::time_point> tick(Clock::time_point now, Later& later);
  /// There will be no connection any more.
  void end(Later& later);

 private:
  bool handle(ipc::FromSupervisor& message);
  void welcomed(ipc::Welcome const& message);
  void refused(ipc::Error const& message);
  void answered(std::uint64_t seq, bool is_error);

  SessionLock& lock_;
  ProblemLog& log_;
  ipc::Hello const hello_;
  RefusedLines refused_;
  Outbox outbox_;
  Ledger ledger_{outbox_};
  Requests requests_{lock_, ledger_};
  Callbacks callbacks_{lock_, outbox_};
  FatalReport fatal_{lock_, outbox_};
  Endpoints endpoints_{lock_, outbox_};
  InstancePhase phase_{lock_};
};

}  // namespace lastcall::sdk
