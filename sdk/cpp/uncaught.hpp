// Reports why a process ends if the supervisor could otherwise only observe that it ends: because
// of an exception that was not caught, or of std::terminate() without one.
//
// Rules:
//  1. The report is sent on a connection of its own, because when the program terminates, its
//     threads, its locks and its event loop may be in any state.
//  2. It delays the end of the process by a second at most. The handler that was installed before
//     runs afterwards.
//  3. A forked child reports nothing.
//
// Thread rule: any thread; the handler runs on the thread that failed. Source: docs/ipc.md,
// 'fatal'.
#pragma once

#include <string>
#include <string_view>

#include "ipc/to_supervisor.hpp"

namespace lastcall::sdk {

/// From now on the end of this process by std::terminate() is reported to the supervisor at `path`,
/// in the name of `hello`. `owner` identifies the registration for forget_uncaught().
void report_uncaught(void const* owner, std::string path, ipc::Hello hello);
void forget_uncaught(void const* owner);

/// Describes the exception that is being handled. The reason is empty if there is none, or if it is
/// not a failure (a thread that is cancelled).
ipc::Fatal describe_exception(std::string_view what_failed);

}  // namespace lastcall::sdk
