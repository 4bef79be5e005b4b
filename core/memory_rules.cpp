#include "core/memory_rules.hpp"

#include <algorithm>
#include <utility>

#include "core/cleanup_rules.hpp"
#include "core/event_rules.hpp"
#include "core/hook_rules.hpp"
#include "core/questions.hpp"
#include "core/registration_rules.hpp"
#include "core/stop_rules.hpp"
#include "core/will.hpp"

namespace lastcall::lifecycle::rules {
namespace {

/// The number of peers that a restarted supervisor has to expect.
std::uint32_t peers_to_expect(Machines const& m) {
  std::uint32_t const here = m.peers.sources();
  return m.recovery.awaits_peers() ? std::max(m.recovery.expected_peers(), here) : here;
}

/// The next life awaits the peers that this one still awaits, and their requests.
std::uint64_t in_flight_to_expect(Machines const& m) {
  std::uint64_t const here = m.ledger.roots_in_flight();
  return m.recovery.awaits_peers() ? std::max(m.unseen.of_peers().value_or(0), here) : here;
}

Silence silence_to_remember(Machines const& m) {
  return m.coordinator.is_stopping() ? Silence::none : m.health.responsiveness.silence();
}

/// Whether the last blob is still what a restarted supervisor needs. Counts and times that are only
/// for the report are part of the blob, but no reason to write it again.
bool still_holds(Machines const& m, Remembered const& written) {
  auto const& then = written.progress;
  auto const& stop = then.stop;
  return then.phase == m.coordinator.phase() && stop.has_value() == m.coordinator.is_stopping() &&
         (stop ? std::optional(stop->deadline) : std::nullopt) == m.coordinator.deadline() &&
         then.drain_limit == m.coordinator.clock.drain_limit() &&
         then.hook == m.coordinator.clock.reported_hook() &&
         written.cleanup_step == m.cleanup.step() && written.sdk_peers == peers_to_expect(m) &&
         written.died_with_work == m.tally.has_died_with_work() &&
         written.engine_killed == m.engine.was_killed() &&
         written.condemned.has_value() == m.prestop.is_condemned() &&
         written.silence == silence_to_remember(m);
}

Remembered remembered_now(Machines const& m) {
  return {.progress = m.coordinator.progress(),
          .cleanup_step = m.cleanup.step(),
          .sdk_peers = peers_to_expect(m),
          .died_with_work = m.tally.has_died_with_work(),
          .aborted_with_work = m.tally.was_aborted_with_work(),
          .engine_killed = m.engine.was_killed(),
          .boot = m.shim.is_known() ? m.shim.boot() : m.recovery.boot(),
          .own_container = has_own_container(m),
          .ready = m.health.started(),
          .silence = silence_to_remember(m),
          .relayed = m.evidence.ingress_has_relayed(),
          .in_flight = in_flight_to_expect(m),
          .relaying = m.ledger.of_peer(kIngressPeer),
          .unseen = m.recovery.awaits_peers() ? m.unseen.ended() : m.unseen.all(),
          .condemned =
              m.prestop.is_condemned() ? std::optional(m.prestop.awaiting()->why) : std::nullopt,
          .outcomes = m.tally.outcomes(),
          .in_flight_at_end = m.tally.in_flight_at_end()};
}

/// A stop is final and the first cause wins: the remembered one outranks a drain and a later stop
/// that this life began before it knew.
bool is_outranked(Machines const& m, Remembered const& remembered) {
  auto const& theirs = remembered.progress.stop;
  auto const& ours = m.coordinator.stop();
  if (theirs) {
    return ours && ours->cause_at <= theirs->cause_at;
  }
  return ours || m.recovery.is_decided() || remembered.progress.phase <= m.coordinator.phase();
}

/// Returns how many of the requests that a life remembered count as unseen (unseen.hpp). Before the
/// drain their number means nothing, and as long as new requests are accepted some may have begun
/// after the record. After the exit none is in flight.
std::optional<std::uint64_t> unseen_of(Phase phase, std::uint64_t in_flight) {
  if (phase < Phase::deregistering) {
    return 0;
  }
  if (phase == Phase::exited) {
    return std::nullopt;
  }
  return in_flight > 0 || phase == Phase::deregistering ? std::optional(in_flight) : std::nullopt;
}

/// The connections of an earlier life's ingress ended with it.
void count_cut_streams(Machines& m, Remembered const& remembered) {
  Phase const phase = remembered.progress.phase;
  if (phase >= Phase::deregistering && m.evidence.ingress_counts() &&
      unseen_of(phase, remembered.relaying)) {
    m.unseen.streams_ended(remembered.in_flight);
  }
}

void restore_machines(Machines& m, Instant now, Remembered const& remembered) {
  auto const own_deadline = m.coordinator.deadline();
  m.coordinator.restore(now, remembered.progress);
  if (own_deadline) {
    m.coordinator.clock.limit_deadline(*own_deadline);
  }
  m.tally.restore(remembered);
  m.engine.restore_killed(remembered.engine_killed);
  if (remembered.ready) {
    m.health.startup.assume_over();
    m.health.responsiveness.restore(now, remembered.silence);
    m.health.update(now);
    if (!is_silent(m)) {  // silence is announced, because this life did not see it begin
      m.notified.verdict(m.health.verdict());
    }
  }
  if (remembered.relayed) {
    m.evidence.ingress_relayed();
  }
  m.unseen.restore(remembered.unseen);
  count_cut_streams(m, remembered);
  m.recovery.restored(now, remembered.boot, remembered.own_container, remembered.sdk_peers,
                      m.peers.returned());
  if (m.recovery.awaits_peers()) {
    m.unseen.await_peers(unseen_of(remembered.progress.phase, remembered.in_flight));
  }
}

void restore_progress(Machines& m, Instant now, Remembered remembered, bool stop_follows) {
  Phase const their_phase = remembered.progress.phase;
  if (is_outranked(m, remembered)) {
    withdraw_earlier_life(m, now, their_phase);
    return;
  }
  if (m.registrations.is_registered() && their_phase > Phase::serving) {
    deregister_everywhere(m, now);  // a registration of this life is withdrawn first
  }
  Phase const before = m.coordinator.phase();
  if (before > their_phase) {
    remembered.progress.phase = before;
    remembered.progress.phase_began = m.coordinator.phases().began();
  }
  restore_machines(m, now, remembered);
  Phase const phase = m.coordinator.phase();
  if (phase != before) {
    m.orders.act(PhaseBegun{phase});
  }
  announce(m);
  if (phase == Phase::cleaning_up && before != Phase::cleaning_up) {
    // Peers may have come back before the shim, and may not know of the stop: what they announced
    // is cut.
    bool const is_fatal = remembered.progress.stop->mode == StopMode::fatal;
    cancel_all(m, now, CancelMode::kill,
               is_fatal ? CancelReason::engine_dead : CancelReason::grace_timeout);
    begin_cleanup(m, now, remembered.cleanup_step);
  }
  if (phase != Phase::serving) {
    withdraw_earlier_life(m, now, remembered.progress.phase);
  } else if (stop_follows || is_silent(m)) {
    m.registrations.assume_registered();  // the keys are there, but a dying instance is not offered
  } else {
    register_everywhere(m);
  }
}

}  // namespace

void on(Machines& m, Instant now, StopRecordRead const& record) {
  if (m.shim.is_known()) {
    return;  // the shim's memory is newer
  }
  m.recovery.end();
  m.memory.record_may_exist();
  // A record of a stop that has ended was not removed in time: its boot would keep all others away.
  auto const kept = decode_remembered(record.blob);
  if (kept && kept->progress.phase != Phase::exited) {
    restore(m, now, record.blob, false);
  }
}

void restore(Machines& m, Instant now, std::string const& blob, bool stop_follows) {
  auto const remembered = decode_remembered(blob);
  if (!remembered) {
    return;
  }
  bool const is_condemned =
      remembered->condemned && !m.shim.is_known() && !m.coordinator.is_stopping();
  restore_progress(m, now, *remembered, stop_follows);
  if (auto const& hook = remembered->progress.hook; hook && hook->deletion) {
    m.prestop.deletion.reported_by_hook(hook->called_at);
    if (hook->grace) {
      m.prestop.deletion.read();
    }
    // A pod is deleted only once, so what this life saw came later.
    if (m.prestop.deletion.is_there() &&
        m.coordinator.clock.hook_was_called(*hook, m.coordinator.phase() == Phase::exited)) {
      announce(m);
    }
  }
  if (m.prestop.deletion.is_there()) {
    m.coordinator.clock.explain_hook();
  }
  if (is_condemned) {
    await_replacement(m, now,
                      {.condemned = true,
                       .until = std::nullopt,
                       .since = now,
                       .verdict = Verdict::dead,
                       .why = *remembered->condemned});
  }
}

void remember_if_changed(Machines& m) {
  auto const& written = m.memory.written();
  bool const has_exited = m.coordinator.phase() == Phase::exited;
  bool const exit_is_known = written && written->progress.phase == Phase::exited && has_exited;
  if (exit_is_known || (written && still_holds(m, *written)) || !m.recovery.is_over()) {
    return;
  }
  m.memory.write(remembered_now(m));
  bool const in_progress =
      is_draining(m.coordinator.phase()) || m.coordinator.is_stopping() || m.prestop.is_condemned();
  bool const over = has_exited || !in_progress;
  if (over && m.memory.take_record()) {
    m.orders.put_first(ForgetStopRecord{});  // so that it comes before an exit of this step
  }
  bool const connected = m.shim.is_connected();
  if (!connected && over) {
    return;  // after a restart, nothing in it would be true
  }
  if (!connected) {
    m.memory.record_may_exist();
  }
  m.orders.put_first(Remember{encode(*m.memory.written())});
}

void leave_will_if_changed(Machines& m) {
  auto will = m.shim.is_connected() ? will_of({.phase = m.coordinator.phase(),
                                               .stop = m.coordinator.stop(),
                                               .engine_has_ended = m.engine.has_exited(),
                                               .died_with_work = m.tally.has_died_with_work(),
                                               .code = exit_code_now(m)})
                                    : std::nullopt;
  if (will && will != m.memory.will()) {
    m.orders.put_first(*will);
  }
  m.memory.leave(std::move(will));
}

}  // namespace lastcall::lifecycle::rules
