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
#include <type_traits>

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

/// How a request is cancelled: `stop` lets the engine end it, `kill` cuts it off.
enum class CancelMode : std::uint8_t { stop, kill };

/// Whether a stop was requested, or something is broken.
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

/// The table of a set's words, in the order of its enumerators: one specialisation per set.
template <typename Enum>
inline constexpr auto kWordsOf = nullptr;
template <typename Enum>
concept HasWords = !std::is_null_pointer_v<std::remove_cvref_t<decltype(kWordsOf<Enum>)>>;

/// The word of an enumerator.
template <typename Enum, std::size_t N>
constexpr std::string_view word_of(std::array<std::string_view, N> const& words, Enum value) {
  return words[static_cast<std::size_t>(value)];
}

template <>
inline constexpr auto const& kWordsOf<Phase> = kPhases;
template <>
inline constexpr auto const& kWordsOf<CancelMode> = kCancelModes;
template <>
inline constexpr auto const& kWordsOf<StopMode> = kStopModes;
template <>
inline constexpr auto const& kWordsOf<CancelReason> = kCancelReasons;
template <>
inline constexpr auto const& kWordsOf<Outcome> = kOutcomes;
template <>
inline constexpr auto const& kWordsOf<RejectedReason> = kRejectedReasons;

}  // namespace vocabulary

template <vocabulary::HasWords Enum>
constexpr std::string_view name(Enum x) {
  return vocabulary::word_of(vocabulary::kWordsOf<Enum>, x);
}
template <vocabulary::HasWords Enum>
constexpr std::optional<Enum> parse_word(std::string_view word) {
  return vocabulary::find_word<Enum>(vocabulary::kWordsOf<Enum>, word);
}

constexpr std::optional<Phase> parse_phase(std::string_view word) {
  return parse_word<Phase>(word);
}
constexpr std::optional<CancelMode> parse_cancel_mode(std::string_view word) {
  return parse_word<CancelMode>(word);
}
constexpr std::optional<StopMode> parse_stop_mode(std::string_view word) {
  return parse_word<StopMode>(word);
}
constexpr std::optional<CancelReason> parse_cancel_reason(std::string_view word) {
  return parse_word<CancelReason>(word);
}
constexpr std::optional<Outcome> parse_outcome(std::string_view word) {
  return parse_word<Outcome>(word);
}
constexpr std::optional<RejectedReason> parse_rejected_reason(std::string_view word) {
  return parse_word<RejectedReason>(word);
}

// A word added to one side only does not compile.
static_assert(name(Phase::exited) == "exited");
static_assert(name(CancelMode::kill) == "kill");
static_assert(name(StopMode::fatal) == "fatal");
static_assert(name(CancelReason::engine_dead) == "engine_dead");
static_assert(name(Outcome::engine_dead) == "engine_dead");
static_assert(name(RejectedReason::queue_timeout) == "queue_timeout");

}  // namespace lastcall::lifecycle
