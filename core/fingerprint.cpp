// The state as one number, for the exploration that must know which states it has seen.
//
// What only reports and logs tell is left out, a past instant that is waited for is `due` however
// long ago it was, peers count by their order, and requests and endpoints are a sum: histories that
// differ in nothing else are one state.
#include <algorithm>
#include <map>
#include <type_traits>

#include "core/lifecycle.hpp"

namespace lastcall::lifecycle {
namespace {

/// Mixes values into one hash, in their order.
struct Mixer {
  Instant now;
  std::uint64_t hash = 0;

  template <typename T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  void put(T x) {
    hash += static_cast<std::uint64_t>(x) + 0x9e3779b97f4a7c15ULL;
    hash = (hash ^ (hash >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    hash = (hash ^ (hash >> 27U)) * 0x94d049bb133111ebULL;
    hash ^= hash >> 31U;
  }
  void put(Duration d) { put(to_ms(d)); }
  void put(std::string_view text) {
    put(text.size());
    for (char const c : text) {
      put(c);
    }
  }
  /// An instant that is waited for: once it has passed, it does not matter when.
  void put(Instant at) { put(std::max(at - now, Duration{0})); }
  template <typename T>
  void put(std::optional<T> const& x) {
    put(x.has_value());
    if (x) {
      put(*x);
    }
  }
  template <typename... T>
  void all(T const&... x) {
    (put(x), ...);
  }
};

void put(Mixer& m, Budgets const& b) {
  m.all(b.deregister_timeout, b.late_accept, b.shared, b.reserve, b.settle, b.kill_margin);
}

/// Phase, deadline and gate.
void put(Mixer& m, ShutdownCoordinator const& c, Settings const& settings) {
  auto const& gate = c.gate();
  m.put(c.phase());
  if (auto const& stop = c.stop()) {
    m.all(stop->cause.kind, stop->mode, stop->deadline, stop->in_starting);
    put(m, c.budgets());
    // What a restarted supervisor will make of it.
    put(m, clamp_to_total(settings.shutdown, stop->deadline - stop->cause_at));
  }
  if (c.phase() == Phase::deregistering) {
    auto const& at = gate.deregistered_at;
    Duration const used = at ? *at - c.phase_began() : Duration{0};
    m.put(at ? *at + c.budgets().late_accept_after(used) : *c.deregister_limit());
    m.put(at.has_value());
    m.put(at ? m.now : c.phase_began() + c.budgets().shared);  // how long late_accept may be
  }
  if (c.phase() == Phase::draining) {
    m.put(c.phase_began() + settings.shutdown.drain_unknown);
  }
  if (c.phase() == Phase::drained && c.restored_at()) {
    m.put(*c.restored_at() + settings.shutdown.drain_unknown);
  }
  m.put(c.hook().has_value());
  if (auto const& hook = c.hook()) {
    m.all(*c.hook_limit(), hook->deletion, hook->began_drain, c.hook_is_done());
    // What a stop will find spent.
    m.put(std::min(m.now - hook->called_at, settings.shutdown.grace_period));
  }
  if (c.is_draining()) {
    m.all(c.progress().drain_limit, gate.migrate_asked, gate.migrate_killed, gate.migrate_kill_at,
          gate.timeout_asked, gate.timeout_killed, gate.timeout_kill_at);
  }
}

void put(Mixer& m, CleanupSequence const& cleanup) {
  if (!cleanup.is_active()) {
    return;
  }
  m.all(cleanup.step(), cleanup.term_sent(), cleanup.kill_sent());
  m.put(std::max(cleanup.paths_from().value_or(m.now), m.now));
  m.put(cleanup.group_began() + kAcksAndHooksCap);  // no group before the engine takes longer
  for (std::size_t i = 0; i < kCleanupItems; ++i) {
    auto const item = static_cast<CleanupItem>(i);
    m.all(cleanup.record(item).outcome == ItemOutcome::pending, cleanup.started(item));
  }
}

void put(Mixer& m, EngineHealth const& health) {
  Responsiveness const& soft = health.responsiveness();
  auto const fell = soft.fell_silent_at();
  m.all(health.verdict(), health.started(), health.next_deadline(), health.awaits_process(),
        soft.silence(), soft.is_stopped(), soft.patience(),
        fell ? std::min(m.now - *fell, kSilenceForgiven) : kSilenceForgiven,
        health.waits_for_canary());
  if (health.settings().tokens_show_stalls) {
    m.put(std::min(health.still_for(m.now), soft.patience()));
  }
  for (EngineHealth::Row const& row : health.rows()) {
    m.all(row.passes, row.failures, row.slow_since ? m.now - *row.slow_since : Duration{-1},
          row.last, row.seen, row.unanswered_since ? m.now - *row.unanswered_since : Duration{-1});
  }
}

/// How long ago something was matters no longer than it is waited for.
void put(Mixer& m, GaugeEvidence const& gauges, TokenProbe const& token, Settings const& settings,
         bool drains) {
  auto const age = [&m](std::optional<Instant> at, Duration most) {
    return at ? std::min(m.now - *at, most) : Duration{-1};
  };
  m.all(gauges.is_settled(), gauges.shows_work(), gauges.in_flight(),
        age(gauges.zero_since(), settings.gauge_refresh.value_or(Duration{0})),
        age(gauges.busy_at(), drains ? settings.shutdown.drain_unknown : Duration{0}),
        gauges.load_counts(), gauges.load_is_zero());
  m.all(token.out(), token.proof(), token.canary_at());
}

/// Its limits do not change by themselves, and measured times only say what is told to who asks.
void put(Mixer& m, Admission const& admission) {
  m.all(admission.running(), admission.waiting(), admission.without_first_byte());
}

void put(Mixer& m, CutRequests const& requests) {
  std::uint64_t sum = 0;
  requests.for_each(m.now, [&](std::string_view id, Cut const& cut, Instant until) {
    Mixer one{m.now};
    one.all(id, cut.mode, cut.relayed, until);
    sum += one.hash;
  });
  m.put(sum);
}

/// A command that waits until an earlier life is known.
void put(Mixer& m, Event const& held) {
  m.put(held.index());
  if (auto const* drain = std::get_if<DrainRequested>(&held)) {
    m.all(drain->exit, drain->timeout);
  }
}

}  // namespace

std::uint64_t Lifecycle::fingerprint(Instant now) const {
  Mixer m{now};
  if (supervisor_ended_) {
    return m.hash;
  }
  put(m, coordinator_, settings_);
  put(m, cleanup_);
  if (coordinator_.phase() == Phase::cleaning_up) {
    m.put(cancels_out_by());
  }
  if (!coordinator_.is_stopping()) {
    put(m, health_);  // a stop is beyond verdicts
  }
  m.put(shim_.has_value());
  if (shim_) {
    m.all(std::string_view(shim_->boot), shim_->connected, shim_->run, shim_->gone, shim_->lost_at);
  } else {
    m.all(decided_, std::string_view(restored_boot_), restored_own_container_);
  }
  m.all(engine_, engine_exit_.code, engine_exit_.signal, engine_ordered_, engine_killed_,
        died_with_work_, aborted_with_work_, last_source_gone_, work_was_lost());
  put(m, gauges_, token_, settings_, coordinator_.is_draining());
  put(m, admission_), put(m, cut_);
  m.all(told_busy_, admission_deadline(), tree_.state(), rest_gone_by(), tree_.main_ends_by());
  if (engine_gone_at_) {
    m.put(tree_.counted_from(*engine_gone_at_) + kAfterEngine);
  }
  for (RegistryRecord const& record : registries_) {
    m.put(record.state);
  }
  // Where nothing was relayed, what comes later in an own restart does not depend on its deadline.
  std::optional<Instant> const restart_deadline =
      own_restart_ && ingress_has_relayed_
          ? std::optional(coordinator_.budgets_of(own_restart_->signalled_at)
                              .deadline(own_restart_->signalled_at))
          : std::nullopt;
  m.all(registered_, recovered_, recovered_ ? std::nullopt : recovery_until_, record_kept_,
        own_signal_, rests_, deletion_.source(), deletion_disproved_at(),
        hook_waits_since_.has_value(), hook_is_answered_, awaiting_.has_value(),
        awaiting_ && awaiting_->condemned, awaiting_ ? awaiting_->until : std::nullopt,
        own_restart_.has_value(), own_restart_ ? std::optional(own_restart_->next) : std::nullopt,
        restart_deadline, own_restart_ ? own_restart_->stage : OwnRestart::Stage::announced,
        peers_until_, peers_until_ ? expected_peers_ : 0, ingress_has_relayed_);
  for (Event const& event : held_) {
    put(m, event);
  }
  std::map<PeerId, std::uint32_t> rank;
  for (auto const& [id, peer] : peers_) {
    rank[id] = static_cast<std::uint32_t>(rank.size());
    m.all(peer.critical, peer.connected, peer.source, peer.watched, peer.cleanup_pending,
          peer.unclean_at, peer.announced - std::min(peer.announced, peer.resumed), peer.lost_at);
  }
  std::uint64_t sum = 0;
  auto const add = [&](PeerId peer, auto const&... x) {
    Mixer one{now};
    auto const found = rank.find(peer);
    one.all(found == rank.end() ? UINT32_MAX : found->second, x...);
    sum += one.hash;
  };
  ledger_.for_each(
      [&](RequestView const& view) {
        add(view.peer, view.id, view.root, view.endpoint, view.state, view.child, view.standing);
      },
      endpoints_);
  endpoints_.for_each([&](EndpointTracker::Endpoint const& e) {
    add(e.peer, std::string_view(e.name), e.graceful, e.registered, e.in_flight);
  });
  m.put(sum);
  return m.hash;
}

}  // namespace lastcall::lifecycle
