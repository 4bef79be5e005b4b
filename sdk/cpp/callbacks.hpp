// The program's answers to the supervisor's questions: how it is, whether it has left its
// registries, and whether it has cleaned up.
//
// Rules:
//  1. A question for which the program has set no callback is answered at once.
//  2. The program may call a `done` later, on any thread, and after its client is gone: then it
//     does nothing.
//  3. A program that leaves registries by itself is announced as registered in each greeting, so
//     that the supervisor waits for it.
//
// Thread rule: set() and report_health() from any thread; the questions on the thread that
// processes, without the session's mutex; announce() under it. Source: docs/ipc.md, 'deregister'.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <lastcall/client.hpp>

#include "ipc/from_supervisor.hpp"
#include "sdk/cpp/outbox.hpp"
#include "sdk/cpp/session_lock.hpp"

namespace lastcall::sdk {

class Callbacks {
 public:
  struct Set {
    std::function<HealthAnswer()> health;
    std::function<void(std::chrono::milliseconds, Client::Done)> cleanup;
    std::function<void(Client::Done)> deregister;
  };

  Callbacks(SessionLock& lock, Outbox& outbox) : lock_(lock), outbox_(outbox) {}

  /// While the session lives, a `done` is sent. It must be called before there is a connection.
  void belong_to(std::weak_ptr<void> session) { session_ = std::move(session); }
  /// The change is made under the session's mutex, so it must not destroy a callback: that may call
  /// the client.
  void set(std::function<void(Set&)> const& change);
  void report_health(Health status, std::string detail);

  void check_health();
  void deregister();
  void cleanup(ipc::Cleanup const& message);
  /// Must precede the line that ends the wait for this process.
  void announce();

 private:
  Client::Done sends(ipc::ToSupervisor message);

  SessionLock& lock_;
  Outbox& outbox_;
  std::weak_ptr<void> session_;
  Set set_;
};

}  // namespace lastcall::sdk
