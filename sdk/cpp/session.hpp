// The implementation of a Client: the protocol with the supervisor, the connection that carries it,
// and the thread that processes both.
//
// Rules:
//  1. Without a socket there is no connection, and every call does nothing.
//  2. One mutex guards what the parts hold (session_lock.hpp).
//  3. Contexts and the thread keep the session alive; close() releases them.
//
// Thread rule: all methods from any thread, process() from one thread at a time, which close() may
// replace. Source: docs/ipc.md.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <lastcall/client.hpp>

#include "ipc/line_buffer.hpp"
#include "sdk/cpp/connect_attempts.hpp"
#include "sdk/cpp/connection.hpp"
#include "sdk/cpp/failures.hpp"
#include "sdk/cpp/problem_log.hpp"
#include "sdk/cpp/processing_thread.hpp"
#include "sdk/cpp/protocol.hpp"
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
  Protocol& protocol() { return protocol_; }
  Failures& failures() { return failures_; }
  RequestContext begin(RequestOptions options, Decided decided);
  /// Whether the caller may wait for an answer: another thread would receive it, or there is no
  /// socket and nothing to wait for.
  bool can_wait() const;
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

  ClientOptions const options_;
  ProblemLog log_{options_.log};
  SessionLock lock_{log_};
  std::unique_ptr<Connection> const connection_;
  ProcessingThread thread_;
  /// Without a thread of its own, the caller of process() holds it; it is recursive because a
  /// callback may call close().
  std::recursive_mutex turn_;

  Protocol protocol_;
  Failures failures_{lock_, protocol_.phase(), protocol_.fatal()};
  std::optional<Clock::time_point> close_by_;
  std::atomic<bool> is_closed_{};

  // The rest belongs to the thread that processes.
  ipc::LineBuffer input_;
  ConnectAttempts attempts_;
};

}  // namespace lastcall::sdk
