// `--prestop engine|supervisor`: a preStop hook of kind exec, for an engine whose command cannot be
// overridden. It opens no port, and only processes that may use the socket can call.
//
// Rules:
//  1. It ends with 0 when the stop signal of its container may come.
//  2. If the supervisor is away or restarts, the hook tries and calls again; the calls share one
//     drain. After 5 s without a supervisor it ends with 1, so that the kubelet continues and
//     reports the reason.
//  3. With LASTCALL_POD_GRACE_SECONDS the hook ends 5 s before that time is up, or after half of a
//     grace below 10 s, whatever it has received: the engine still gets its own stop signal.
//
// Source: specification, 'preStop'; the kubelet's handling of exec hooks.
#pragma once

#include "shim/options.hpp"

namespace lastcall::shim {

/// Returns the exit code.
int call_prestop(Options const& options);

}  // namespace lastcall::shim
