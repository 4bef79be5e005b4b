// The joint meaning of the machines: questions, none of which changes anything.
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
/// A peer reports requests: an SDK peer or the ingress.
bool in_flight_known(Machines const& m);
/// It is known that nothing is in flight, and nothing went down in this drain.
bool is_known_idle(Machines const& m);
InFlightSource source(Machines const& m);
/// The number that is known.
std::size_t reported_in_flight(Machines const& m);
Facts facts(Machines const& m);
/// Whether the engine may be asked for a token, and what it would prove.
TokenProbe::Facts token_facts(Machines const& m);

// --- the engine ---
bool engine_is_live(Machines const& m);
/// It serves, and its engine does not answer: nothing new should come until it does.
bool is_silent(Machines const& m);
/// Its stop signal is on the way, or only its container's liveness probe can end it: reports about
/// it are no news now.
bool engine_is_leaving(Machines const& m);
bool hook_has_returned(Machines const& m);
/// Phases 1 and 2 are over: a preStop call may return.
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
/// The end of phase 3 waits for peers that are still there to receive their requests' cancel, and
/// for clients that read slowly: a request that is cut in the ingress is there until its last byte,
/// the error event, was taken.
Instant cancels_out_by(Machines const& m);
int exit_code_now(Machines const& m);
/// The time at which a preStop hook's report proves false; a stop is final, whatever it was begun
/// for.
std::optional<Instant> deletion_disproved_at(Machines const& m);

// --- what is reported ---
std::optional<Instant> next_deadline(Machines const& m);
AdmissionState admission_state(Machines const& m);
Snapshot snapshot(Machines const& m);
Report make_report(Machines const& m, Instant now);

}  // namespace lastcall::lifecycle::rules
