// Rules for how a drain or stop begins, proceeds and is cut short.
//
// Owned by the core's thread. Source: specification, 'Causes of a stop' and 'Fatal'.
#pragma once

#include <optional>
#include <string>

#include "core/machines.hpp"

namespace lastcall::lifecycle::rules {

/// The first cause wins; a later one changes nothing.
void stop(Machines& m, Instant now, Cause cause, StopMode mode, Instant cause_at,
          std::optional<Duration> timeout = std::nullopt);
/// Something is broken: begins a fatal stop, or ends the drain of a graceful one.
void fatal(Machines& m, Instant now, CauseKind kind, std::string detail);
/// Begins a drain that its requester may undo.
void begin_drain(Machines& m, Instant now, std::optional<Duration> timeout);
/// Undoes the drain, and drops the engine's report from before it.
void undo_drain(Machines& m, Instant now, bool is_ready);
/// A signal from before the cause that the stop began with; its sender counts the grace from that
/// time.
void heed_earlier_signal(Machines& m, Instant at);
/// Orders the exit, which is the last order.
void exit_supervisor(Machines& m, int code);

/// Ends the engine's work: clients that wait for answers will not get them.
void cancel_all(Machines& m, Instant now, CancelMode mode, CancelReason reason);
/// Counts the work in flight, as far as it is known, before it is cut.
void note_cut_work(Machines& m);
/// Announces phase and deadline to all peers, unless that was the last announcement in this step: a
/// peer that receives it twice looks for what changed.
void announce(Machines& m);
/// Reports the phase that ended and the one that began.
void note_phase_change(Machines& m);

// --- joint rules; each returns whether it changed anything ---
/// Carries out the coordinator's next move.
bool apply_move(Machines& m, Instant now);
bool apply_readiness(Machines& m, Instant now);
/// Applies commands that waited for the end of the recovery.
void apply_held(Machines& m, Instant now);
/// The supervisor's own restart beside a shim.
void apply_own_restart(Machines& m, Instant now);

}  // namespace lastcall::lifecycle::rules
