// What has to outlive this process while a stop may be under way: the blob, the will and the phase,
// with the shim; and the blob in `stop.json` while no shim is connected to hold it.
//
// Invariants:
//  1. What the shim needs to finish this stop alone (memory, will, deadline) is sent before
//     anything else in its step is done, logged or counted, so that the shim has it even if the
//     supervisor is frozen or killed right afterwards.
//  2. The record is read once, at the start.
//
// Thread rule: the loop's thread. Source: specification, 'Failing safe'; stop_record.hpp.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/lifecycle.hpp"
#include "ipc/server.hpp"
#include "supervisor/runtime/record/stop_record.hpp"
#include "supervisor/runtime/sessions/shim_session.hpp"
#include "telemetry/log.hpp"

namespace lastcall::runtime {

class StopMemory {
 public:
  StopMemory(std::string const& admin_socket, lifecycle::Lifecycle const& core, ipc::Server& server,
             ShimSession& shim, telemetry::Log& log);

  /// The blob of a stop that an earlier run began; absent if there is none.
  std::optional<std::string> read() const;
  /// Sends the shim what it needs of the step that has ordered `actions`.
  void provide(lifecycle::Instant now, std::span<lifecycle::Action const> actions);
  void forget() { record_.remove(); }
  std::string const& path() const { return record_.path(); }

 private:
  void remember(lifecycle::Remember const& order);
  void leave_will(lifecycle::Instant now, lifecycle::LeaveWill const& order);

  lifecycle::Lifecycle const& core_;
  ipc::Server& server_;
  ShimSession& shim_;
  telemetry::Log& log_;
  StopRecord record_;
};

}  // namespace lastcall::runtime
