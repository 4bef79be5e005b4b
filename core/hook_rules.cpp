#include "core/hook_rules.hpp"

#include <string_view>
#include <utility>

#include "core/event_rules.hpp"
#include "core/questions.hpp"
#include "core/stop_rules.hpp"

namespace lastcall::lifecycle::rules {
namespace {

std::string_view why_released(Machines const& m) {
  auto const& stop = m.coordinator.stop();
  Phase const phase = m.coordinator.phase();
  if ((stop && stop->mode == StopMode::fatal) || m.prestop.is_condemned()) {
    return "the engine is considered lost";
  }
  if (phase == Phase::starting || phase == Phase::exited) {
    return "nothing to drain";
  }
  if (!hook_is_done(m)) {
    return "the supervisor ends";
  }
  return m.coordinator.phases().record(Phase::draining).outcome == PhaseOutcome::completed
             ? "drained"
             : "time is up";
}

}  // namespace

void on(Machines& m, Instant now, DeletionSeen const& seen) {
  if (seen.grace) {
    m.prestop.deletion.read();
  } else {
    m.prestop.deletion.reported_by_hook(now);
  }
  note_deletion(m);
  if (!seen.grace) {
    return;
  }
  if (m.coordinator.clock.limit_grace(*seen.grace, m.coordinator.phase() == Phase::exited)) {
    announce(m);
  }
  if (m.own.is_restarting()) {  // it was not the supervisor's own restart
    stop(m, now, {CauseKind::own_signal, "the pod is being deleted"}, StopMode::graceful,
         m.own.signalled_at());
  }
}

void on(Machines& m, Instant now, EngineStopHook const&) {
  m.prestop.called(now);
  Phase const phase = m.coordinator.phase();
  if (phase == Phase::cleaning_up || phase == Phase::exited || hook_has_returned(m)) {
    return;  // phase 2 is over
  }
  // This life is too young to know that nothing runs: an earlier one may have let requests in.
  bool const may_have_work = !m.recovery.is_over() || m.ledger.in_flight() > 0;
  bool const is_loading = phase == Phase::starting && (m.prestop.awaiting() || !may_have_work);
  m.recovery.end();
  m.recovery.decide();
  bool const begins_drain =
      !is_loading && !m.coordinator.is_stopping() && !is_draining(m.coordinator.phase());
  if (begins_drain) {
    begin_drain(m, now, std::nullopt);
  }
  m.coordinator.clock.begin_hook(now, begins_drain);
  if (m.prestop.deletion.is_there()) {
    m.coordinator.clock.explain_hook();
  }
}

void on(Machines& m, Instant /*now*/, EngineReplaced const& replaced) {
  if (m.prestop.awaiting()) {
    end_awaiting(m, replaced.how);
  }
}

void note_deletion(Machines& m) {
  m.coordinator.clock.explain_hook();
  if (m.prestop.awaiting() && !m.prestop.is_condemned()) {
    m.prestop.end_awaiting();  // no other engine will replace it
    m.orders.act(ReplacementEnded{"the pod is being deleted"});
  }
}

bool release_hook(Machines& m, Instant now) {
  if (!m.prestop.waits()) {
    return false;
  }
  m.orders.act(ReleaseHook{why_released(m), m.prestop.release(now)});
  return true;
}

void await_replacement(Machines& m, Instant now, Awaiting awaiting) {
  if (m.coordinator.phase() == Phase::drained) {
    m.coordinator.await_replacement(now);
    note_phase_change(m);
  }
  m.health.reset();
  m.evidence.forget_engine(m.settings);
  bool const condemned = awaiting.condemned;
  m.prestop.await_engine(std::move(awaiting));
  m.orders.act(AwaitReplacement{condemned});
}

void end_awaiting(Machines& m, std::string how) {
  m.prestop.end_awaiting();
  if (auto const& hook = m.coordinator.clock.hook.get(); hook && !hook->deletion) {
    m.coordinator.clock.hook.forget();
    m.prestop.set_answered(false);
  }
  m.health.reset();
  m.orders.act(ReplacementEnded{std::move(how)});
}

// --- joint rules ---------------------------------------------------------------------------------

bool apply_disproof(Machines& m, Instant now) {
  auto const at = deletion_disproved_at(m);
  if (!at || now < *at) {
    return false;
  }
  m.prestop.deletion.disprove(now);
  m.recovery.decide();  // the pod has outlived what an earlier life remembers of it, too
  m.orders.act(DeletionDisproved{});
  auto const hook = m.coordinator.clock.hook.get();
  if (!hook) {
    return true;
  }
  release_hook(m, now);
  m.prestop.set_answered(false);
  bool const is_undone = is_draining(m.coordinator.phase()) && hook->began_drain;
  if (is_undone) {
    undo_drain(m, now, false);
  } else {
    m.coordinator.clock.hook.forget();  // a drain that goes on was also requested otherwise
  }
  if (!m.prestop.awaiting()) {
    m.health.reset();
  }
  return true;
}

bool apply_hook(Machines& m, Instant now) {
  if (!hook_is_done(m) && !m.prestop.is_condemned()) {
    return false;
  }
  bool const has_released = release_hook(m, now);
  m.coordinator.clock.hook.end();
  auto const& hook = m.coordinator.clock.hook.get();
  m.prestop.set_answered(hook.has_value());
  bool const is_restart = hook && !hook->deletion && !m.coordinator.is_stopping();
  bool const has_shim = m.shim.is_known();
  if (is_restart && has_shim) {
    m.coordinator.clock.hook.forget();  // from now on the shim reports what happens
    m.prestop.set_answered(false);
  }
  if (!is_restart || has_shim || m.prestop.awaiting()) {
    return has_released;
  }
  await_replacement(m, now, {.until = now + kReplacedAnyway, .since = now});
  return true;
}

void apply_awaiting(Machines& m, Instant now) {
  if (m.prestop.awaits_in_vain(now)) {
    end_awaiting(m, "no other engine was seen in time");
  }
}

}  // namespace lastcall::lifecycle::rules
