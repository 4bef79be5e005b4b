// Rules of admission: what limits, queue and load mean for a request that begins.
//
// Owned by the core's thread. Source: specification, 'Admission'.
#pragma once

#include <optional>

#include "core/machines.hpp"

namespace lastcall::lifecycle::rules {

/// The reason why a request may not begin; if absent, it may begin, at once or after a wait.
std::optional<RejectedReason> refusal_of(Machines const& m, Instant now,
                                         RequestBegun const& request);
/// Counts a refused request, which never was in flight.
void refuse_new(Machines& m, Instant now, RequestBegun const& request, RejectedReason why);
/// The newest request takes a place or waits for one. Returns whether it may run.
bool admit_newest(Machines& m, Instant now, RequestBegun const& request, bool asks, bool is_part);
/// Refuses every request that waits for admission.
void refuse_waiters(Machines& m, Instant now);

// --- joint rules ---
/// Grants free places. This rule runs last in a step, so that a request which left or was cancelled
/// in it gets none.
void grant_waiters(Machines& m, Instant now);
/// Ends waits that were too long, and drops load reports that are too old.
void apply_admission_time(Machines& m, Instant now);

}  // namespace lastcall::lifecycle::rules
