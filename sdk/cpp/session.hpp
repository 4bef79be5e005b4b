// The protocol with the supervisor, from hello to the last answer, and the implementation of a
// Client.
//
// Rules:
//  1. The connection may end at any moment; the greeting of the next one contains everything that
//     the supervisor must know.
//  2. Every line with a `seq` is answered by `ack` or `error`, and these two are not answered.
//  3. What the parts hold is guarded by one mutex, session_lock.hpp.
//
// Thread rule: all methods from any thread, process() from one thread at a time, which close() may
// replace. Source: docs/ipc.md.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lastcall/client.hpp>

#include "ipc/codec.hpp"
#include "ipc/line_buffer.hpp"
#include "ipc/message.hpp"
#include "sdk/cpp/callbacks.hpp"
#include "sdk/cpp/connect_attempts.hpp"
#include "sdk/cpp/connection.hpp"
#include "sdk/cpp/endpoints.hpp"
#include "sdk/cpp/failures.hpp"
#include "sdk/cpp/fatal_report.hpp"
#include "sdk/cpp/instance_phase.hpp"
#include "sdk/cpp/ledger.hpp"
#include "sdk/cpp/outbox.hpp"
#include "sdk/cpp/problem_log.hpp"
#include "sdk/cpp/processing_thread.hpp"
#include "sdk/cpp/requests.hpp"
#include "sdk/cpp/session_lock.hpp"

namespace lastcall::sdk {

class Session final : public std::enable_shared_from_this<Session> {
 public:
  explicit Session(ClientOptions options);
  ~Session();
  Session(Session const&) = delete;
  Session& operator=(Session const&) = delete;
  void start();

  // For the client.
  bool is_enabled() const { return connection_ != nullptr && !is_detached(); }
  void close(std::chrono::milliseconds at_most);
  Requests& requests() { return requests_; }
  InstancePhase& phase() { return phase_; }
  Endpoints& endpoints() { return endpoints_; }
  Callbacks& callbacks() { return callbacks_; }
  FatalReport& fatal() { return fatal_; }
  Failures& failures() { return failures_; }
  RequestContext begin(RequestOptions options, Decided decided);
  /// Whether the caller may wait for an answer: another thread would receive it, or there is no
  /// socket and nothing to wait for.
  bool can_wait() const;
  void send(ipc::ToSupervisor const& message);
  int native_handle() const { return is_enabled() ? connection_->handle() : -1; }
  void process();

  // After a fork: whether this process is a child of the process that made the session.
  bool is_detached() const { return lock_.is_detached(); }
  void abandon_in_child();

 private:
  // The loop.
  void run_once(int at_most_ms);
  void run_until_closed();
  bool take_input();
  /// Returns the problem to log about the attempt; empty if there is none.
  std::string connect(Clock::time_point now);
  void disconnect(Later& later);
  void finish_round(Later& later);

  // The messages of the supervisor.
  bool receive(std::string_view line);
  void refuse(ipc::DecodeError const& problem);
  bool handle(ipc::FromSupervisor& message);
  void on(ipc::Welcome const& message);
  void on(ipc::PhaseChange const& message);
  void on(ipc::Admitted const& message);
  void on(ipc::Rejected const& message);
  void on(ipc::CancelBatch const& message);
  void on(ipc::HealthCheck const& message);
  void on(ipc::Deregister const& message);
  void on(ipc::Cleanup const& message);
  void on(ipc::Ack const& message);
  void on(ipc::Error const& message);
  void on_answer(std::uint64_t seq, bool is_error);

  ClientOptions const options_;
  ProblemLog log_{options_.log};
  SessionLock lock_{log_};
  ipc::Hello const hello_;
  std::unique_ptr<Connection> const connection_;
  ProcessingThread thread_;
  /// Without a thread of its own, the caller of process() holds it; it is recursive because a
  /// callback may call close().
  std::recursive_mutex turn_;

  Outbox outbox_;
  Ledger ledger_{outbox_};
  Requests requests_{lock_, ledger_};
  Callbacks callbacks_{lock_, outbox_};
  FatalReport fatal_{lock_, outbox_};
  Endpoints endpoints_{lock_, outbox_};
  InstancePhase phase_{lock_};
  Failures failures_{lock_, phase_, fatal_};
  std::optional<Clock::time_point> close_by_;
  std::atomic<bool> is_closed_{};

  // The rest belongs to the thread that processes.
  ipc::LineBuffer input_;
  ConnectAttempts attempts_;
};

}  // namespace lastcall::sdk
