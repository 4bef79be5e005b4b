// The phases of a drain or stop, as a table of (phase, event).
//
//   starting -> serving -> deregistering -> draining -> drained          (a drain: reversible)
//                                                   \-> cleaning_up -> exited   (a stop: final)
//
// Invariant: phases only rise within one stop; a drain that is undone, an engine that was replaced
// and a rearm fall back. docs/architecture.md's diagram is made from this table.
//
// Values only, no thread rule. Source: specification, 'Lifecycle'.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/state_table.hpp"
#include "core/vocabulary.hpp"

namespace lastcall::lifecycle {

inline constexpr std::size_t kPhases = 7;

enum class PhaseEvent : std::uint8_t {
  engine_ready,
  drain_begins,
  stop_begins,       // there is something to drain
  stop_abbreviated,  // fatal, or nothing to drain
  drain_aborted,     // of a graceful stop
  deregistered,
  gate_closed,           // of a drain
  gate_closed_for_stop,  // of a stop
  resumed,
  resumed_unready,  // the engine has not been ready yet
  engine_replaced,
  list_done,
  rearmed,
};
inline constexpr std::size_t kPhaseEvents = 13;

using PhaseTable = StateTable<Phase, PhaseEvent, kPhases, kPhaseEvents>;

inline constexpr PhaseTable kPhaseTable = [] {
  using enum Phase;
  constexpr char const* kNotUp = "impossible: only an engine that starts becomes ready";
  constexpr char const* kJoins = "a further cause joins the drain or stop that is under way";
  constexpr char const* kOver = "the drain is over already";
  constexpr char const* kNoDrain = "impossible: no drain is under way";
  constexpr char const* kStopped = "impossible: a stop is final";
  constexpr char const* kElsewhere = "impossible: this happens only in one phase";
  constexpr char const* kFirst = "impossible: the owner checks first whether a stop is under way";
  // Columns: engine_ready, drain_begins, stop_begins, stop_abbreviated, drain_aborted,
  // deregistered, gate_closed, gate_closed_for_stop, resumed, resumed_unready, engine_replaced,
  // list_done, rearmed.
  return PhaseTable{{
      {{move_to(serving, "every check passed once"), move_to(deregistering, "drain"),
        move_to(deregistering, "stop with requests in flight"),
        move_to(cleaning_up, "fatal, or stop with nothing to drain"),
        impossible(starting, kNoDrain), impossible(starting, kElsewhere),
        impossible(starting, kNoDrain), impossible(starting, kNoDrain),
        impossible(starting, kNoDrain), impossible(starting, kNoDrain),
        impossible(starting, kElsewhere), impossible(starting, kElsewhere),
        impossible(starting, kElsewhere)}},
      {{impossible(serving, kNotUp), move_to(deregistering, "drain"),
        move_to(deregistering, "stop"), move_to(cleaning_up, "fatal"),
        impossible(serving, kNoDrain), impossible(serving, kElsewhere),
        impossible(serving, kNoDrain), impossible(serving, kNoDrain), impossible(serving, kNoDrain),
        impossible(serving, kNoDrain), impossible(serving, kElsewhere),
        impossible(serving, kElsewhere), impossible(serving, kElsewhere)}},
      {{impossible(deregistering, kNotUp), impossible(deregistering, kFirst),
        ignored(deregistering, kJoins), move_to(cleaning_up, "fatal"),
        move_to(cleaning_up, "fatal in a stop"),
        move_to(draining, "confirmed or timed out, and late_accept"),
        impossible(deregistering, kElsewhere), impossible(deregistering, kElsewhere),
        move_to(serving, "resume"), move_to(starting, "resume before the engine was ready"),
        impossible(deregistering, kElsewhere), impossible(deregistering, kElsewhere),
        impossible(deregistering, kElsewhere)}},
      {{impossible(draining, kNotUp), impossible(draining, kFirst), ignored(draining, kJoins),
        move_to(cleaning_up, "fatal"), move_to(cleaning_up, "fatal in a stop"),
        impossible(draining, kElsewhere), move_to(drained, "gate empty, no stop"),
        move_to(cleaning_up, "gate empty or cancel points"), move_to(serving, "resume"),
        move_to(starting, "resume before the engine was ready"), impossible(draining, kElsewhere),
        impossible(draining, kElsewhere), impossible(draining, kElsewhere)}},
      {{impossible(drained, kNotUp), impossible(drained, kFirst), ignored(drained, kJoins),
        move_to(cleaning_up, "fatal"), move_to(cleaning_up, "fatal in a stop"),
        impossible(drained, kElsewhere), ignored(drained, "late requests are done, too"),
        move_to(cleaning_up, "stop"), move_to(serving, "resume"),
        move_to(starting, "resume before the engine was ready"),
        move_to(starting, "container restart"), impossible(drained, kElsewhere),
        impossible(drained, kElsewhere)}},
      {{impossible(cleaning_up, kNotUp), impossible(cleaning_up, kStopped),
        impossible(cleaning_up, kFirst), impossible(cleaning_up, kFirst),
        ignored(cleaning_up, kOver), impossible(cleaning_up, kElsewhere),
        impossible(cleaning_up, kNoDrain), impossible(cleaning_up, kNoDrain),
        impossible(cleaning_up, kStopped), impossible(cleaning_up, kStopped),
        impossible(cleaning_up, kElsewhere),
        move_to(exited, "list done and engine gone, or deadline"),
        impossible(cleaning_up, kElsewhere)}},
      {{impossible(exited, kNotUp), impossible(exited, kStopped), impossible(exited, kFirst),
        impossible(exited, kFirst), ignored(exited, kOver), impossible(exited, kElsewhere),
        impossible(exited, kNoDrain), impossible(exited, kNoDrain), impossible(exited, kStopped),
        impossible(exited, kStopped), impossible(exited, kElsewhere),
        impossible(exited, kElsewhere), move_to(starting, "rearm")}},
  }};
}();

}  // namespace lastcall::lifecycle
