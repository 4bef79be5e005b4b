#include "core/lifecycle.hpp"

#include <map>
#include <utility>

#include "core/admission_rules.hpp"
#include "core/cleanup_rules.hpp"
#include "core/engine_rules.hpp"
#include "core/event_rules.hpp"
#include "core/hook_rules.hpp"
#include "core/memory_rules.hpp"
#include "core/peer_rules.hpp"
#include "core/questions.hpp"
#include "core/registration_rules.hpp"
#include "core/request_rules.hpp"
#include "core/stop_rules.hpp"

namespace lastcall::lifecycle {

using namespace rules;

Lifecycle::Lifecycle(Settings settings)
    : settings_(std::make_shared<Settings const>(std::move(settings))) {}

std::span<Action const> Lifecycle::step(Instant now, Event const& event) {
  m_.orders.clear();
  std::visit([&](auto const& fact) { on(m_, now, fact); }, event);
  apply_joint_rules(now);
  leave_will_if_changed(m_);
  remember_if_changed(m_);
  return m_.orders.all();
}

/// Runs to a fixed point: each rule looks at all machines together, and any rule may enable
/// another.
void Lifecycle::apply_joint_rules(Instant now) {
  m_.coordinator.clock.expect_acks_or_hooks(m_.settings.cleanup_hooks || sdk_may_clean_up(m_));
  drain_ledger(m_, now);  // a request that left in this step is not refused by the rules of time
  // Time alone decides these.
  m_.recovery.update(now, m_.recovery.misses_peers() ? m_.peers.returned() : 0);
  if (!m_.recovery.misses_peers()) {
    m_.unseen.peers_are_back();
  }
  apply_shim_loss(m_, now);
  apply_awaiting(m_, now);
  apply_rest(m_, now);
  apply_held(m_, now);
  expire_peers(m_, now);
  apply_admission_time(m_, now);
  // This comes after the rules that end waits, because the supervisor may end once nobody waits any
  // more.
  apply_own_restart(m_, now);
  bool changed = true;
  while (changed && !m_.own.has_ended()) {
    drain_ledger(m_, now);
    changed = apply_disproof(m_, now) || apply_verdict(m_, now) || apply_readiness(m_, now) ||
              apply_hook(m_, now) || apply_move(m_, now) || apply_token(m_, now) ||
              apply_cleanup(m_, now);
  }
  apply_silence(m_, now);
  drain_ledger(m_, now);
  // After the exit nothing is ordered: a request that waits asks the next supervisor.
  if (!m_.own.has_ended()) {
    grant_waiters(m_, now);
  }
}

// --- questions -----------------------------------------------------------------------------------

std::optional<Instant> Lifecycle::next_deadline() const {
  return rules::next_deadline(m_);
}

Snapshot Lifecycle::snapshot() const {
  return rules::snapshot(m_);
}

Report Lifecycle::report(Instant now) const {
  auto const& final_report = m_.memory.final_report();
  return final_report ? *final_report : make_report(m_, now);
}

CancelBatch Lifecycle::take_cancels(PeerId peer, std::size_t max_ids) {
  return m_.ledger.take_cancels(peer, max_ids);
}

bool Lifecycle::accepts_shim(std::string_view boot) const {
  return rules::accepts_shim(m_, boot);
}

/// Data that is only reported and logged is left out, peers count by their order, and requests and
/// endpoints are a sum, so that histories which differ in nothing else are one state.
std::uint64_t Lifecycle::fingerprint(Instant now) const {
  Mixer m{now};
  if (m_.own.has_ended()) {
    return m.hash;
  }
  Phase const phase = m_.coordinator.phase();
  m_.coordinator.fingerprint(m);
  m_.cleanup.fingerprint(m);
  if (phase == Phase::cleaning_up) {
    m.put(cancels_out_by(m_));
  }
  if (!m_.coordinator.is_stopping()) {
    m_.health.fingerprint(m);  // once a stop is under way, verdicts change nothing
  }
  m_.shim.fingerprint(m);
  m_.recovery.fingerprint(m, m_.shim.is_known());
  m_.engine.fingerprint(m);
  m.put(rest_gone_by(m_));
  m_.tally.fingerprint(m);
  m_.unseen.fingerprint(m);
  m_.evidence.fingerprint(m, m_.settings, is_draining(m_.coordinator.phase()));
  m_.admission.fingerprint(m);
  m_.cut.fingerprint(m);
  m_.notified.fingerprint(m);
  m.all(m_.admission.next_deadline(), m_.notified.is_busy() ? m_.loads.busy_until() : std::nullopt);
  m_.registrations.fingerprint(m);
  m_.memory.fingerprint(m);
  m_.prestop.fingerprint(m);
  m.put(deletion_disproved_at(m_));
  m_.own.fingerprint(m);
  // If nothing was relayed, the rest of an own restart does not depend on its deadline.
  if (m_.own.is_restarting() && m_.evidence.ingress_has_relayed()) {
    Instant const signalled_at = m_.own.signalled_at();
    m.put(m_.coordinator.clock.budgets_of(signalled_at).deadline(signalled_at));
  }
  m_.peers.fingerprint(m);
  std::map<PeerId, std::uint32_t> rank;
  for (auto const& [id, peer] : m_.peers.all()) {
    rank.emplace(id, static_cast<std::uint32_t>(rank.size()));
  }
  m.put(fingerprint_of_requests(m_.ledger, m_.endpoints, rank, now));
  return m.hash;
}

}  // namespace lastcall::lifecycle
