// What the machines mean together: questions of which none changes anything.
//
// Where an answer needs more than one machine it is here, and nowhere else. Owned by the core's
// thread. Source: specification, 'Where in-flight comes from'.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/machines.hpp"

namespace lastcall::lifecycle::rules {

// --- requests in flight ---
/// Somebody reports requests: an SDK peer or the ingress.
bool in_flight_known(Machines const& m);
/// Somebody knows that nothing is in flight, and nothing went down in this drain.
bool is_known_idle(Machines const& m);
InFlightSource source(Machines const& m);
/// As many as anybody can tell.
std::size_t reported_in_flight(Machines const& m);
Facts facts(Machines const& m);
/// Whether the engine may be asked for a token, and what it would prove.
TokenProbe::Facts token_facts(Machines const& m);

// --- the engine ---
bool engine_is_live(Machines const& m);
/// It serves, and its engine answers nobody: nothing new should come until it is heard.
bool is_silent(Machines const& m);
/// Its stop signal is on the way, or nobody but its container's liveness probe can end it: what is
/// heard of it now is no news.
bool engine_is_leaving(Machines const& m);
bool hook_has_returned(Machines const& m);
/// Phases 1 and 2 are behind us: a preStop call may return.
bool hook_is_done(Machines const& m);
/// The rest of the engine's tree is not waited for beyond that.
std::optional<Instant> rest_gone_by(Machines const& m);
/// The shim lives in another container than we.
bool has_own_container(Machines const& m);
bool accepts_shim(Machines const& m, std::string_view boot);

// --- phase 3 and the end ---
/// SDK peers are there, or expected back, that phase 3 will ask to clean up.
bool sdk_may_clean_up(Machines const& m);
/// Once the engine's tree is gone the shim waits a fixed time for our exit: the list must end
/// before it.
Instant cleanup_limit(Machines const& m);
/// The end of phase 3 waits for peers that are still there to hear of their requests' cancel, and
/// for clients that read slowly: what is cut in the ingress is there until its last byte, the
/// error event, was taken.
Instant cancels_out_by(Machines const& m);
int exit_code_now(Machines const& m);
/// Where a preStop hook's word proves false; a stop is final, whatever it was begun for.
std::optional<Instant> deletion_disproved_at(Machines const& m);

// --- what is told ---
std::optional<Instant> next_deadline(Machines const& m);
AdmissionState admission_state(Machines const& m);
Snapshot snapshot(Machines const& m);
Report make_report(Machines const& m, Instant now);

}  // namespace lastcall::lifecycle::rules
