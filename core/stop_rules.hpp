// How a drain or stop begins, moves on and is cut short.
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
/// Something is broken: a fatal stop, or the end of the drain of a graceful one.
void fatal(Machines& m, Instant now, CauseKind kind, std::string detail);
/// A drain that its own asker may undo.
void begin_drain(Machines& m, Instant now, std::optional<Duration> timeout);
/// The drain is undone, and with it the engine's report from before it.
void undo_drain(Machines& m, Instant now, bool is_ready);
/// A signal from before the cause that we acted on: its sender counts the grace from then.
void heed_earlier_signal(Machines& m, Instant at);
/// Our exit is the last order.
void exit_supervisor(Machines& m, int code);

/// An end of the engine's work: clients that wait for it will not get it.
void cancel_all(Machines& m, Instant now, CancelMode mode, CancelReason reason);
/// Before it is cut: as many as are known.
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
/// Commands that waited for the end of the recovery.
void apply_held(Machines& m, Instant now);
/// Our own restart beside a shim.
void apply_own_restart(Machines& m, Instant now);

}  // namespace lastcall::lifecycle::rules
