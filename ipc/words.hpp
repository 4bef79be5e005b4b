// The closed sets of words that only the protocol uses; the ones shared with the core (phase, mode,
// reason, outcome) are in core/vocabulary.hpp.
//
// Invariants:
//  1. name(x) is the word on the wire; parse_x() is its inverse; one table per set.
//  2. A set grows only together with docs/ipc.md.
//
// Pure values, no thread rule. Source: docs/ipc.md, 'Closed sets'.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
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

namespace words {

inline constexpr std::array<std::string_view, 4> kRoles{"shim", "engine", "operator", "hook"};
inline constexpr std::array<std::string_view, 2> kContainers{"engine", "supervisor"};
inline constexpr std::array<std::string_view, 3> kHealthStatuses{"healthy", "busy", "dead"};
inline constexpr std::array<std::string_view, 10> kErrorCodes{
    "bad_json",  "too_long",    "unknown_op", "bad_field", "duplicate_id",
    "not_yours", "not_allowed", "busy",       "conflict",  "version"};
inline constexpr std::array<std::string_view, 3> kEngineStates{"waiting", "running", "exited"};
inline constexpr std::array<std::string_view, 2> kSignalScopes{"main", "all"};

}  // namespace words

using lifecycle::name;

constexpr std::string_view name(Role x) {
  return lifecycle::vocabulary::word_of(words::kRoles, x);
}
constexpr std::string_view name(Container x) {
  return lifecycle::vocabulary::word_of(words::kContainers, x);
}
constexpr std::string_view name(HealthStatus x) {
  return lifecycle::vocabulary::word_of(words::kHealthStatuses, x);
}
constexpr std::string_view name(ErrorCode x) {
  return lifecycle::vocabulary::word_of(words::kErrorCodes, x);
}
constexpr std::string_view name(EngineState x) {
  return lifecycle::vocabulary::word_of(words::kEngineStates, x);
}
constexpr std::string_view name(SignalScope x) {
  return lifecycle::vocabulary::word_of(words::kSignalScopes, x);
}

constexpr std::optional<Role> parse_role(std::string_view word) {
  return lifecycle::vocabulary::find_word<Role>(words::kRoles, word);
}
constexpr std::optional<Container> parse_container(std::string_view word) {
  return lifecycle::vocabulary::find_word<Container>(words::kContainers, word);
}
constexpr std::optional<HealthStatus> parse_health_status(std::string_view word) {
  return lifecycle::vocabulary::find_word<HealthStatus>(words::kHealthStatuses, word);
}
constexpr std::optional<ErrorCode> parse_error_code(std::string_view word) {
  return lifecycle::vocabulary::find_word<ErrorCode>(words::kErrorCodes, word);
}
constexpr std::optional<EngineState> parse_engine_state(std::string_view word) {
  return lifecycle::vocabulary::find_word<EngineState>(words::kEngineStates, word);
}
constexpr std::optional<SignalScope> parse_signal_scope(std::string_view word) {
  return lifecycle::vocabulary::find_word<SignalScope>(words::kSignalScopes, word);
}

static_assert(name(Role::hook) == "hook");
static_assert(name(Container::supervisor) == "supervisor");
static_assert(name(HealthStatus::dead) == "dead");
static_assert(name(ErrorCode::version) == "version");
static_assert(name(EngineState::exited) == "exited");
static_assert(name(SignalScope::all) == "all");

}  // namespace lastcall::ipc
