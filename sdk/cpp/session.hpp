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

#include <chrono>
#include <memory>
#include <optional>

#include <lastcall/client.hpp>

#include "sdk/cpp/connection.hpp"
#include "sdk/cpp/failures.hpp"
#include "sdk/cpp/link.hpp"
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
  /// Whether the caller may wait for an answer: another thread would receive it. Without a socket
  /// the result is the same, so that a program does not fail only in a pod.
  bool can_wait() const;
  int native_handle() const { return is_enabled() ? connection_->handle() : -1; }
  void process();

  // After a fork: whether this process is a child of the process that made the session.
  bool is_detached() const { return lock_.is_detached(); }
  void abandon_in_child();

 private:
  ClientOptions const options_;
  ProblemLog log_{options_.log};
  SessionLock lock_{log_};
  std::unique_ptr<Connection> const connection_;
  ProcessingThread thread_;
  Protocol protocol_;
  std::optional<Link> link_;  // if there is a socket
  Failures failures_{lock_, protocol_.phase(), protocol_.fatal()};
};

}  // namespace lastcall::sdk
