// The closed sets of words that the core, the IPC, the metrics and the reports share.
//
// Invariants:
//  1. An enumerator's name is its word on the wire, in logs and in labels: name() and
//     parse_word() are each other's inverse, and both come from one table per set.
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

/// The words of a set in the order of its enumerators: one specialisation for each set.
template <typename Enum>
inline constexpr std::array<std::string_view, 0> kWordsOf{};
template <typename Enum>
concept HasWords = !kWordsOf<Enum>.empty();

template <>
inline constexpr std::array<std::string_view, 7> kWordsOf<Phase>{
    "starting", "serving", "deregistering", "draining", "drained", "cleaning_up", "exited"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<CancelMode>{"stop", "kill"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<StopMode>{"graceful", "fatal"};
template <>
inline constexpr std::array<std::string_view, 8> kWordsOf<CancelReason>{
    "client_disconnect", "control", "connection_lost", "parent",
    "operator",          "migrate", "grace_timeout",   "engine_dead"};
template <>
inline constexpr std::array<std::string_view, kOutcomes> kWordsOf<Outcome>{
    "completed", "cancelled", "migrated", "error", "rejected", "lost", "engine_dead"};
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<RejectedReason>{"draining", "overloaded",
                                                                          "queue_timeout"};

}  // namespace vocabulary

/// The word of an enumerator.
template <vocabulary::HasWords Enum>
constexpr std::string_view name(Enum x) {
  return vocabulary::kWordsOf<Enum>[static_cast<std::size_t>(x)];
}
template <vocabulary::HasWords Enum>
constexpr std::optional<Enum> parse_word(std::string_view word) {
  auto const& words = vocabulary::kWordsOf<Enum>;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == word) {
      return static_cast<Enum>(i);
    }
  }
  return std::nullopt;
}

// A word added to one side only does not compile.
static_assert(name(Phase::exited) == "exited");
static_assert(name(CancelMode::kill) == "kill");
static_assert(name(StopMode::fatal) == "fatal");
static_assert(name(CancelReason::engine_dead) == "engine_dead");
static_assert(name(Outcome::engine_dead) == "engine_dead");
static_assert(name(RejectedReason::queue_timeout) == "queue_timeout");

}  // namespace lastcall::lifecycle
