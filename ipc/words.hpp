// The closed sets of words that only the protocol uses; the ones shared with the core (phase, mode,
// reason, outcome) are in core/vocabulary.hpp.
//
// Invariants:
//  1. name(x) is the word on the wire; parse_word() is its inverse; one table per set.
//  2. A set grows only together with docs/ipc.md.
//
// Pure values, no thread rule. Source: docs/ipc.md, 'Closed sets'.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/vocabulary.hpp"

namespace lastcall::ipc {

using lifecycle::CancelMode;
using lifecycle::CancelReason;
using lifecycle::Outcome;
using lifecycle::Phase;
using lifecycle::RejectedReason;
using lifecycle::StopMode;

/// The role of a peer. Operators use only the admin socket, all others only the engine socket.
enum class Role : std::uint8_t { shim, engine, operator_, hook };

/// The container whose preStop hook calls us.
enum class Container : std::uint8_t { engine, supervisor };

/// An SDK's report about its engine.
enum class HealthStatus : std::uint8_t { healthy, busy, dead };

/// Why a line was refused.
enum class ErrorCode : std::uint8_t {
  bad_json,
  too_long,
  unknown_op,
  bad_field,
  duplicate_id,
  not_yours,
  not_allowed,
  busy,
  conflict,
  version,
};

/// The state of the engine that a shim guards.
enum class EngineState : std::uint8_t { waiting, running, exited };

/// The processes that an `engine.signal` reaches: the main process, or every descendant.
enum class SignalScope : std::uint8_t { main, all };

}  // namespace lastcall::ipc

namespace lastcall::lifecycle::vocabulary {

template <>
inline constexpr std::array<std::string_view, 4> kWordsOf<ipc::Role>{"shim", "engine", "operator",
                                                                     "hook"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<ipc::Container>{"engine", "supervisor"};
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<ipc::HealthStatus>{"healthy", "busy",
                                                                             "dead"};
template <>
inline constexpr std::array<std::string_view, 10> kWordsOf<ipc::ErrorCode>{
    "bad_json",  "too_long",    "unknown_op", "bad_field", "duplicate_id",
    "not_yours", "not_allowed", "busy",       "conflict",  "version"};
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<ipc::EngineState>{"waiting", "running",
                                                                            "exited"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<ipc::SignalScope>{"main", "all"};

}  // namespace lastcall::lifecycle::vocabulary

namespace lastcall::ipc {

using lifecycle::name;

static_assert(name(Role::hook) == "hook");
static_assert(name(Container::supervisor) == "supervisor");
static_assert(name(HealthStatus::dead) == "dead");
static_assert(name(ErrorCode::version) == "version");
static_assert(name(EngineState::exited) == "exited");
static_assert(name(SignalScope::all) == "all");

}  // namespace lastcall::ipc
