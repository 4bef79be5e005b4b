// Reports why a process ends that the supervisor could otherwise only see end: an exception that
// was not caught, or std::terminate() without one.
//
// Rules:
//  1. The report goes over a connection of its own: when the program terminates, its threads, its
//     locks and its event loop may be in any state.
//  2. It holds the end of the process up for a second at most, and the handler that was there
//     before runs afterwards.
//  3. A forked child reports nothing.
//
// Thread rule: from any thread; the handler runs on the one that failed. Source: docs/ipc.md,
// 'fatal'.
#pragma once

#include <string>
#include <string_view>

#include "ipc/to_supervisor.hpp"

namespace lastcall::sdk {

/// From now on the end of this process by std::terminate() is reported to the supervisor at `path`,
/// in the name of `hello`. `owner` is what forget_uncaught() takes it back with.
void report_uncaught(void const* owner, std::string path, ipc::Hello hello);
void forget_uncaught(void const* owner);

/// The report about the exception that is being handled; an empty reason: there is none, or it is
/// not a failure (a thread that is cancelled).
ipc::Fatal describe_exception(std::string_view what_failed);

}  // namespace lastcall::sdk
