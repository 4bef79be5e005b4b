// Questions to the core; nothing here changes it.
#include <algorithm>

#include "core/exit_code.hpp"
#include "core/lifecycle.hpp"

namespace lastcall::lifecycle {

std::optional<Instant> Lifecycle::next_deadline() const {
  if (supervisor_ended_) {
    return std::nullopt;
  }
  std::optional<Instant> at = recovered_ ? std::nullopt : recovery_until_;
  at = earlier_of(at, peers_until_);
  at = earlier_of(at, own_restart_ ? std::optional(own_restart_->next) : std::nullopt);
  at = earlier_of(at, awaiting_ ? awaiting_->until : std::nullopt);
  at = earlier_of(at, deletion_disproved_at());
  if (shim_) {
    at = earlier_of(at, shim_->lost_at);
  }
  for (auto const& [id, peer] : peers_) {
    at = earlier_of(at, earlier_of(peer.lost_at, peer.unclean_at));
  }
  if (!coordinator_.is_stopping() && !engine_is_leaving()) {
    at = earlier_of(at, health_.next_deadline());
  }
  at = earlier_of(at, earlier_of(rest_gone_by(), tree_.main_ends_by()));
  at = earlier_of(at, coordinator_.next_deadline(facts()));
  at = earlier_of(at, token_.next_deadline(token_facts()));
  at = earlier_of(at, admission_deadline());
  if (coordinator_.phase() == Phase::cleaning_up) {
    at = earlier_of(at, cleanup_.next_deadline(cleanup_limit(), coordinator_.budgets()));
    if (cleanup_.is_done()) {
      at = earlier_of(at, cancels_out_by());
    }
  }
  return at;
}

Facts Lifecycle::facts() const {
  Facts facts;
  for (RegistryRecord const& registry : registries_) {
    facts.registries_settled &= registry.state != RegistryRecord::State::deregistering;
    facts.registries_confirmed &= registry.state != RegistryRecord::State::failed;
  }
  facts.in_flight_known = in_flight_known();
  facts.gauges_idle = engine_proves_idle();
  facts.gauges_busy_at = gauges_.busy_at();
  facts.has_gauges = settings_.gauge_refresh.has_value();
  facts.recovering = peers_until_.has_value();
  facts.ungraceful = endpoints_.ungraceful_in_flight();
  facts.graceful = ledger_.in_flight() - facts.ungraceful;
  return facts;
}

bool Lifecycle::in_flight_known() const {
  return last_source_gone_ || ingress_counts() || ledger_.in_flight() > 0 ||
         std::any_of(peers_.begin(), peers_.end(),
                     [](auto const& entry) { return entry.second.source; });
}

bool Lifecycle::engine_proves_idle() const {
  return gauges_.is_settled() && (gauges_.load_is_zero() || token_.has_passed());
}

/// Whether the engine may be asked for a token, and what it would prove.
TokenProbe::Facts Lifecycle::token_facts() const {
  Phase const phase = coordinator_.phase();
  bool const is_counted = in_flight_known();
  bool const is_joined =
      coordinator_.is_stopping() || (coordinator_.hook() && !coordinator_.hook_is_done());
  bool const drains = phase == Phase::draining || (phase == Phase::drained && is_joined);
  bool const lives = !shim_ || engine_ == EngineState::running;
  TokenProbe::Facts facts;
  facts.engine_takes = health_.started() && lives && phase >= Phase::serving &&
                       phase <= Phase::drained && !engine_is_leaving();
  facts.drains = drains && !is_counted && !peers_until_;
  facts.shows_zero = gauges_.is_zero() && !gauges_.load_is_zero();
  facts.is_idle = phase == Phase::serving && !own_restart_ && ledger_.in_flight() == 0;
  facts.is_counted = is_counted;
  return facts;
}

/// It is the only way to the engine, or it has relayed.
bool Lifecycle::ingress_counts() const {
  return settings_.ingress_is_exclusive || ingress_has_relayed_;
}

bool Lifecycle::sdk_may_clean_up() const {
  return peers_until_ || std::any_of(peers_.begin(), peers_.end(),
                                     [](auto const& entry) { return entry.second.connected; });
}

bool Lifecycle::is_known_idle() const {
  return (in_flight_known() || engine_proves_idle()) && !peers_until_ && ledger_.in_flight() == 0 &&
         !work_was_lost();
}

InFlightSource Lifecycle::source() const {
  if (ingress_counts()) {
    return InFlightSource::ingress;
  }
  if (in_flight_known()) {
    return InFlightSource::sdk;
  }
  bool const is_told = gauges_.in_flight() > 0 || engine_proves_idle();
  return is_told ? InFlightSource::gauges : InFlightSource::unknown;
}

std::size_t Lifecycle::in_flight_told() const {
  return source() == InFlightSource::gauges ? gauges_.in_flight() : ledger_.roots_in_flight();
}

bool Lifecycle::engine_is_live() const {
  return shim_ && engine_ == EngineState::running;
}

bool Lifecycle::is_silent() const {
  return coordinator_.phase() == Phase::serving && !coordinator_.is_stopping() &&
         health_.verdict() == Verdict::unresponsive;
}

std::uint32_t Lifecycle::sdk_peers() const {
  return static_cast<std::uint32_t>(std::count_if(
      peers_.begin(), peers_.end(),
      [](auto const& entry) { return entry.second.connected && entry.second.source; }));
}

/// A peer is back when the live requests of its hello were announced again.
bool Lifecycle::peers_are_back() const {
  auto const back = std::count_if(peers_.begin(), peers_.end(), [](auto const& entry) {
    return entry.second.connected && entry.second.resumed >= entry.second.announced;
  });
  return static_cast<std::uint32_t>(back) >= expected_peers_;
}

bool Lifecycle::accepts_shim(std::string_view boot) const {
  if (!shim_ && coordinator_.is_stopping() && !restored_boot_.empty()) {
    return restored_boot_ == boot;  // another boot's stop is not finished
  }
  return !shim_ || shim_->boot == boot;
}

CancelBatch Lifecycle::take_cancels(PeerId peer, std::size_t max_ids) {
  return ledger_.take_cancels(peer, max_ids);
}

Snapshot Lifecycle::snapshot() const {
  Snapshot s;
  s.phase = coordinator_.phase();
  s.phase_began = coordinator_.phase_began();
  s.stop = coordinator_.stop();
  s.verdict = health_.verdict();
  s.verdict_reason = health_.reason();
  s.silent = is_silent();
  s.source = source();
  s.in_flight = in_flight_told();
  s.late = late_;
  s.active_graceful = endpoints_.active_graceful();
  s.unconfirmed_cancels = ledger_.unconfirmed();
  s.shim_known = shim_.has_value();
  s.shim_connected = shim_ && shim_->connected;
  s.engine = engine_;
  s.deletion_seen = deletion_.is_there();
  s.own_restart = own_restart_ ? std::optional(own_restart_->stage) : std::nullopt;
  if (auto const& hook = coordinator_.hook()) {
    s.hook = {.called_at = hook->called_at,
              .limit = *coordinator_.hook_limit(),
              .deletion = hook->deletion,
              .waits = hook_waits_since_.has_value()};
  }
  if (awaiting_) {
    s.replacement = {.since = awaiting_->since, .condemned = awaiting_->condemned};
    s.verdict = awaiting_->verdict;
    s.verdict_reason =
        awaiting_->condemned ? std::string_view(awaiting_->why) : "waits for another engine";
  }
  s.registered = registered_ || settings_.registries == 0;
  s.peers = static_cast<std::uint32_t>(std::count_if(
      peers_.begin(), peers_.end(), [](auto const& entry) { return entry.second.connected; }));
  s.ignored_signals = ignored_signals_;
  s.admission = admission_state();
  return s;
}

Report Lifecycle::report(Instant now) const {
  return final_report_ ? *final_report_ : make_report(now);
}

Report Lifecycle::make_report(Instant now) const {
  Report r;
  if (auto const& stop = coordinator_.stop()) {
    r.cause = name(stop->cause.kind);
    r.detail = stop->cause.detail;
    r.mode = stop->mode;
    r.stopped_in_starting = stop->in_starting;
    r.time_left = stop->deadline - now;
  }
  r.exit_code = exit_code_now();
  r.deregistering = coordinator_.record(Phase::deregistering);
  r.draining = coordinator_.record(Phase::draining);
  r.cleaning_up = coordinator_.record(Phase::cleaning_up);
  r.requests = outcomes_;
  r.source = source();
  r.longest_request = longest_request_;
  r.in_flight_at_end = in_flight_at_end_;
  for (std::size_t i = 0; i < kCleanupItems; ++i) {
    r.cleanup[i] = cleanup_.record(static_cast<CleanupItem>(i));
  }
  r.registries = registries_;
  r.engine_known = shim_.has_value();
  r.engine = engine_;
  r.engine_exit = engine_exit_;
  r.engine_ordered = engine_ordered_;
  r.rest_alive = tree_.alive();
  r.rest_names = tree_.names();
  r.ignored_signals = ignored_signals_;
  return r;
}

/// Once the engine's tree is gone the shim waits a fixed time for our exit: the list must end
/// before it.
Instant Lifecycle::cleanup_limit() const {
  Instant const deadline = *coordinator_.deadline();
  return engine_gone_at_ ? std::min(deadline, tree_.counted_from(*engine_gone_at_) + kAfterEngine)
                         : deadline;
}

/// The end of phase 3 waits for peers that are still there to hear of their requests' cancel, and
/// for clients that read slowly: what is cut in the ingress is there until its last byte, the error
/// event, was taken.
Instant Lifecycle::cancels_out_by() const {
  if (ledger_.of_peer(kIngressPeer) > 0) {
    Duration const margin = coordinator_.budgets().kill_margin / 2;
    return std::max(coordinator_.phase_began(),
                    std::min(cleanup_limit(), *coordinator_.deadline() - margin));
  }
  bool const heard = std::none_of(peers_.begin(), peers_.end(), [this](auto const& entry) {
    return entry.second.connected && ledger_.of_peer(entry.first) > 0;
  });
  return heard ? coordinator_.phase_began()
               : std::min(coordinator_.phase_began() + coordinator_.budgets().settle,
                          cleanup_limit());
}

int Lifecycle::exit_code_now() const {
  auto const& stop = coordinator_.stop();
  if (!stop) {
    return kExitClean;
  }
  return exit_code({.mode = stop->mode,
                    .stopped_in_starting = stop->in_starting,
                    .engine_killed = engine_killed_,
                    .died_with_work = died_with_work_,
                    .caused_by_engine_exit = stop->cause.kind == CauseKind::engine_exited,
                    .engine = engine_exit_,
                    .on_exit = settings_.on_exit});
}

}  // namespace lastcall::lifecycle
