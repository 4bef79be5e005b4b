// The endpoints that the program has registered.
//
// Rule: the table is authoritative; a greeting contains all of it, and a change of it is one line.
//
// Thread rule: set() and drop() from any thread; announce() under the session's mutex. Source:
// docs/ipc.md, 'endpoint.register'.
#pragma once

#include <map>
#include <string>

#include "ipc/to_supervisor.hpp"
#include "sdk/cpp/outbox.hpp"
#include "sdk/cpp/session_lock.hpp"

namespace lastcall::sdk {

class Endpoints {
 public:
  Endpoints(SessionLock& lock, Outbox& outbox) : lock_(lock), outbox_(outbox) {}

  /// Throws std::invalid_argument if the name cannot be one.
  void set(ipc::EndpointRegister endpoint);
  void drop(std::string const& name);
  /// All of them are part of the greeting.
  void announce();

 private:
  SessionLock& lock_;
  Outbox& outbox_;
  std::map<std::string, ipc::EndpointRegister> known_;
};

}  // namespace lastcall::sdk
