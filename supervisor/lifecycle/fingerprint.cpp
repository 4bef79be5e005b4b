// The state as one string, for the exploration that must know which states it has seen.
#include <string>

#include "supervisor/lifecycle/lifecycle.hpp"

namespace lastcall::lifecycle {
namespace {

/// Appends values; instants are relative, so that the same state at another time is the same.
struct Writer {
  Instant now;
  std::string out;

  template <typename T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  void put(T x) {
    (out += std::to_string(static_cast<long long>(x))) += ',';
  }
  void put(Instant at) { put(to_ms(at - now)); }
  void put(std::string_view text) { (out += text) += ','; }
  template <typename T>
  void put(std::optional<T> const& x) {
    if (x) {
      put(*x);
    } else {
      out += "-,";
    }
  }
  template <typename... T>
  void all(T const&... x) {
    (put(x), ...);
  }
};

}  // namespace

std::string Lifecycle::fingerprint(Instant now) const {
  Writer w{now, {}};
  auto const progress = coordinator_.progress();
  w.all(progress.phase, progress.phase_began, progress.drain_limit, coordinator_.cancels_new(),
        coordinator_.cancels_new_ungraceful(), coordinator_.deregister_limit(), next_deadline(),
        coordinator_.next_deadline(facts()));
  if (progress.stop) {
    auto const& stop = *progress.stop;
    w.all(stop.cause.kind, stop.mode, stop.cause_at, stop.deadline, stop.in_starting);
  }
  w.all(cleanup_.is_active(), cleanup_.step(), cleanup_.term_sent(), cleanup_.kill_sent());
  for (std::size_t i = 0; i < kCleanupItems; ++i) {
    auto const item = static_cast<CleanupItem>(i);
    w.all(cleanup_.record(item).outcome, cleanup_.started(item));
  }
  w.put(shim_.has_value());
  if (shim_) {
    w.all(shim_->boot, shim_->connected, shim_->run, shim_->gone, shim_->lost_at);
  }
  w.all(engine_, engine_exit_.code, engine_exit_.signal, engine_gone_at_, engine_ordered_,
        engine_killed_, died_with_work_, last_source_gone_, gauges_.zero_since(), gauges_.busy_at(),
        gauges_.is_idle(), gauges_.shows_work(), gauges_.in_flight());
  for (auto const& [id, peer] : peers_) {
    w.all(id, peer.critical, peer.connected, peer.source, peer.watched, peer.announced,
          peer.resumed, peer.cleanup_pending, peer.lost_at);
  }
  for (RegistryRecord const& record : registries_) {
    w.put(record.state);
  }
  w.all(registered_, recovery_until_, recovered_, peers_until_, expected_peers_, record_kept_,
        own_signal_, deletion_seen_, own_restart_at_, leave_by_, supervisor_ended_, told_verdict_,
        told_graceful_, health_.verdict(), health_.started(), health_.next_deadline());
  w.all(decided_, std::string_view(restored_boot_), restored_own_container_, held_.size());
  for (EngineHealth::Row const& row : health_.rows()) {
    w.all(row.passed_once, row.failures, row.slow_since, row.last, row.seen);
  }
  ledger_.for_each(
      [&w](RequestView const& view) {
        w.all(view.peer, view.id, view.endpoint, view.state, view.reason, view.late, view.child);
      },
      endpoints_);
  endpoints_.for_each([&w](EndpointTracker::Endpoint const& e) {
    w.all(e.peer, std::string_view(e.name), e.graceful, e.registered, e.in_flight);
  });
  return std::move(w.out);
}

}  // namespace lastcall::lifecycle
