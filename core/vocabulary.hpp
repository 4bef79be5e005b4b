// The closed sets of words that the core, the IPC, the metrics and the reports share.
//
// Invariants:
//  1. An enumerator's name is its word on the wire, in logs and in labels: name(x) and parse_x()
//     are each other's inverse, and both come from one table per set.
//  2. A set grows only together with the protocol's reference, docs/ipc.md.
//
// Pure values, no thread rule. Source: the IPC's closed sets; the outcomes of a request.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lastcall::lifecycle {

/// Phases only rise within one stop; `drained` is where a reversible drain rests.
enum class Phase : std::uint8_t {
  starting,
  serving,
  deregistering,
  draining,
  drained,
  cleaning_up,
  exited,
};

/// How hard a request is cancelled: `stop` asks the engine to end it, `kill` cuts it off.
enum class CancelMode : std::uint8_t { stop, kill };

/// Whether a stop was asked for, or something is broken.
enum class StopMode : std::uint8_t { graceful, fatal };

/// Why a request was cancelled.
enum class CancelReason : std::uint8_t {
  client_disconnect,
  control,
  connection_lost,
  parent,
  operator_,  // `operator` is taken by the language; its word is "operator"
  migrate,
  grace_timeout,
  engine_dead,
};

/// How a request ended; each is counted once. `engine_dead`: cancelled because its engine died.
enum class Outcome : std::uint8_t {
  completed,
  cancelled,
  migrated,
  error,
  rejected,
  lost,
  engine_dead,
};
inline constexpr std::size_t kOutcomes = 7;

/// Why a request was not admitted.
enum class RejectedReason : std::uint8_t { draining, overloaded, queue_timeout };

namespace vocabulary {

inline constexpr std::array<std::string_view, 7> kPhases{
    "starting", "serving", "deregistering", "draining", "drained", "cleaning_up", "exited"};
inline constexpr std::array<std::string_view, 2> kCancelModes{"stop", "kill"};
inline constexpr std::array<std::string_view, 2> kStopModes{"graceful", "fatal"};
inline constexpr std::array<std::string_view, 8> kCancelReasons{
    "client_disconnect", "control", "connection_lost", "parent",
    "operator",          "migrate", "grace_timeout",   "engine_dead"};
inline constexpr std::array<std::string_view, lifecycle::kOutcomes> kOutcomes{
    "completed", "cancelled", "migrated", "error", "rejected", "lost", "engine_dead"};
inline constexpr std::array<std::string_view, 3> kRejectedReasons{"draining", "overloaded",
                                                                  "queue_timeout"};

/// The enumerator whose word is `word`: tables are in the order of their enumerators.
template <typename Enum, std::size_t N>
constexpr std::optional<Enum> find_word(std::array<std::string_view, N> const& words,
                                        std::string_view word) {
  for (std::size_t i = 0; i < N; ++i) {
    if (words[i] == word) {
      return static_cast<Enum>(i);
    }
  }
  return std::nullopt;
}

/// The word of an enumerator.
template <typename Enum, std::size_t N>
constexpr std::string_view word_of(std::array<std::string_view, N> const& words, Enum value) {
  return words[static_cast<std::size_t>(value)];
}

}  // namespace vocabulary

constexpr std::string_view name(Phase x) {
  return vocabulary::word_of(vocabulary::kPhases, x);
}
constexpr std::string_view name(CancelMode x) {
  return vocabulary::word_of(vocabulary::kCancelModes, x);
}
constexpr std::string_view name(StopMode x) {
  return vocabulary::word_of(vocabulary::kStopModes, x);
}
constexpr std::string_view name(CancelReason x) {
  return vocabulary::word_of(vocabulary::kCancelReasons, x);
}
constexpr std::string_view name(Outcome x) {
  return vocabulary::word_of(vocabulary::kOutcomes, x);
}
constexpr std::string_view name(RejectedReason x) {
  return vocabulary::word_of(vocabulary::kRejectedReasons, x);
}

constexpr std::optional<Phase> parse_phase(std::string_view word) {
  return vocabulary::find_word<Phase>(vocabulary::kPhases, word);
}
constexpr std::optional<CancelMode> parse_cancel_mode(std::string_view word) {
  return vocabulary::find_word<CancelMode>(vocabulary::kCancelModes, word);
}
constexpr std::optional<StopMode> parse_stop_mode(std::string_view word) {
  return vocabulary::find_word<StopMode>(vocabulary::kStopModes, word);
}
constexpr std::optional<CancelReason> parse_cancel_reason(std::string_view word) {
  return vocabulary::find_word<CancelReason>(vocabulary::kCancelReasons, word);
}
constexpr std::optional<Outcome> parse_outcome(std::string_view word) {
  return vocabulary::find_word<Outcome>(vocabulary::kOutcomes, word);
}
constexpr std::optional<RejectedReason> parse_rejected_reason(std::string_view word) {
  return vocabulary::find_word<RejectedReason>(vocabulary::kRejectedReasons, word);
}

// A word added to one side only does not compile.
static_assert(name(Phase::exited) == "exited");
static_assert(name(CancelMode::kill) == "kill");
static_assert(name(StopMode::fatal) == "fatal");
static_assert(name(CancelReason::engine_dead) == "engine_dead");
static_assert(name(Outcome::engine_dead) == "engine_dead");
static_assert(name(RejectedReason::queue_timeout) == "queue_timeout");

}  // namespace lastcall::lifecycle
