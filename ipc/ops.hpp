// The words that name the messages, in the order of the two variants.
//
// Rule: there is one entry for each alternative; op_of() and both decoders index these tables.
// Pure values, no thread rule. Source: docs/ipc.md.
#pragma once

#include <array>
#include <string_view>
#include <variant>

#include "ipc/message.hpp"

namespace lastcall::ipc {

inline constexpr std::array<std::string_view, std::variant_size_v<ToSupervisor>> kToSupervisorOps{
    "hello",
    "endpoint.register",
    "endpoint.unregister",
    "request.begin",
    "request.end",
    "request.progress",
    "cancel",
    "cancel.done",
    "health",
    "health.doubt",
    "load",
    "fatal",
    "registered",
    "deregistered",
    "cleanup.done",
    "engine.started",
    "engine.exited",
    "engine.tree",
    "engine.died",
    "engine.stopped",
    "signal",
    "ping",
    "status",
    "requests",
    "watch",
    "drain",
    "resume",
    "reload",
    "admission.set",
    "thresholds.set",
    "prestop",
    "ack",
    "error",
};

inline constexpr std::array<std::string_view, std::variant_size_v<FromSupervisor>>
    kFromSupervisorOps{
        "welcome",        "phase",      "admitted", "rejected", "cancel", "health.check",
        "health.cleared", "deregister", "cleanup",  "remember", "will",   "engine.start",
        "engine.signal",  "exit",       "status",   "ack",      "error",
    };

static_assert(kToSupervisorOps.back() == "error" && kFromSupervisorOps.back() == "error");

}  // namespace lastcall::ipc
