// Every message of the protocol as a plain struct; two closed variants, one for each direction.
//
// Rules:
//  1. One struct is one `op`; its members are that op's fields, in C++ types (docs/ipc.md has the
//     wire names). A new op is a new struct, and the compiler points to all code that must handle
//     it.
//  2. An empty optional string is an absent one (in the protocol an empty string never has a
//     meaning of its own). `seq` is not a field of a message: it belongs to the line and is passed
//     separately.
//  3. A decoded message respects the limits (limits.hpp); encode() refuses one that does not.
//  4. `ack` and `error` exist in both directions: each side answers the other's `seq`.
//
// Pure values, no thread rule. Source: docs/ipc.md.
#pragma once

#include <string_view>
#include <variant>

#include "ipc/from_supervisor.hpp"
#include "ipc/to_supervisor.hpp"

namespace lastcall::ipc {

using ToSupervisor =
    std::variant<Hello, EndpointRegister, EndpointUnregister, RequestBegin, RequestEnd,
                 RequestProgress, Cancel, CancelDone, Health, HealthDoubt, Load, Fatal, Registered,
                 Deregistered, CleanupDone, EngineStarted, EngineExited, EngineTree, EngineDied,
                 EngineStopped, Signal, Ping, StatusQuery, RequestsQuery, Watch, Drain, Resume,
                 Reload, AdmissionSet, ThresholdsSet, Prestop, Ack, Error>;

using FromSupervisor = std::variant<Welcome, PhaseChange, Admitted, Rejected, CancelBatch,
                                    HealthCheck, HealthCleared, Deregister, Cleanup, Remember, Will,
                                    EngineStart, EngineSignal, Exit, StatusUpdate, Ack, Error>;

/// The `op` of a message.
std::string_view op_of(ToSupervisor const& message);
std::string_view op_of(FromSupervisor const& message);

/// Whether a peer of this role may send this message; every role may send `hello`.
bool may_send(Role role, ToSupervisor const& message);

}  // namespace lastcall::ipc
