// The joint meaning of the machines: questions, none of which changes anything.
//
// Every answer that needs more than one machine is here. Owned by the core's thread. Source:
// specification, 'Where in-flight comes from'.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/machines.hpp"

namespace lastcall::lifecycle::rules {

// --- requests in flight ---
/// Whether a peer reports requests: an SDK peer or the ingress.
bool in_flight_known(Machines const& m);
/// Whether it is known that nothing is in flight, and that this drain has lost nothing.
bool is_known_idle(Machines const& m);
InFlightSource source(Machines const& m);
/// The number of requests in flight, if it is known.
std::size_t reported_in_flight(Machines const& m);
Facts facts(Machines const& m);
/// Whether a token may be requested from the engine, and what it would prove.
TokenProbe::Facts token_facts(Machines const& m);

// --- the engine ---
bool engine_is_live(Machines const& m);
/// Whether the instance serves and its engine does not answer, so that nothing new should come
/// until it does.
bool is_silent(Machines const& m);
/// Whether the engine's stop signal is on its way, or only its container's liveness probe can end
/// it, so that reports about its end are expected.
bool engine_is_leaving(Machines const& m);
bool hook_has_returned(Machines const& m);
/// Whether phases 1 and 2 are over, so that a preStop call may return.
bool hook_is_done(Machines const& m);
/// The time until which the stop waits for the rest of the engine's tree.
std::optional<Instant> rest_gone_by(Machines const& m);
/// Whether the shim is in another container than the supervisor.
bool has_own_container(Machines const& m);
bool accepts_shim(Machines const& m, std::string_view boot);

// --- phase 3 and the end ---
/// Whether phase 3 will request a cleanup from SDK peers that are connected or expected back.
bool sdk_may_clean_up(Machines const& m);
/// Once the engine's tree is gone the shim waits a fixed time for the supervisor's exit, so the
/// list must end before it.
Instant cleanup_limit(Machines const& m);
/// The time until which the end of phase 3 waits. Peers that are still there have to receive the
/// cancels of their requests, and slow clients have to read theirs: a request that is cut in the
/// ingress is in flight until the client has taken the last byte, which belongs to the error event.
Instant cancels_out_by(Machines const& m);
int exit_code_now(Machines const& m);
/// The time at which a preStop hook's report proves to be false; a stop is final, whatever caused
/// it.
std::optional<Instant> deletion_disproved_at(Machines const& m);

// --- what is reported ---
std::optional<Instant> next_deadline(Machines const& m);
AdmissionState admission_state(Machines const& m);
Snapshot snapshot(Machines const& m);
Report make_report(Machines const& m, Instant now);

}  // namespace lastcall::lifecycle::rules
