// Rules of admission: what limits, queue and load mean for a request that begins.
//
// Owned by the core's thread. Source: specification, 'Admission'.
#pragma once

#include <optional>

#include "core/machines.hpp"

namespace lastcall::lifecycle::rules {

/// Why a request that asks may not begin; absent: it may, at once or after a wait.
std::optional<RejectedReason> refusal_of(Machines const& m, Instant now,
                                         RequestBegun const& request);
/// It never was in flight.
void refuse_new(Machines& m, Instant now, RequestBegun const& request, RejectedReason why);
/// The newest request takes its place, or waits for one. Says whether it may run.
bool admit_newest(Machines& m, Instant now, RequestBegun const& request, bool asks, bool is_part);
/// Refuses every request that waits for admission.
void refuse_waiters(Machines& m, Instant now);

// --- joint rules ---
/// Grants what is free. The last of a step: who left or was cancelled in it is not granted.
void grant_waiters(Machines& m, Instant now);
/// A wait that was too long, load reports that are too old.
void apply_admission_time(Machines& m, Instant now);

}  // namespace lastcall::lifecycle::rules
