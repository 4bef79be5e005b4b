#include "core/registration_rules.hpp"

#include "core/event_rules.hpp"
#include "core/questions.hpp"

namespace lastcall::lifecycle::rules {

void on(Machines& m, Instant /*now*/, RegistrySettled const& settled) {
  m.registrations.settled(settled);
}

void register_everywhere(Machines& m) {
  if (m.registrations.is_empty() || is_silent(m)) {
    return;
  }
  m.registrations.register_all();
  m.orders.act(Register{});
}

void deregister_everywhere(Machines& m, Instant now, bool returns) {
  if (!m.registrations.is_registered()) {
    return;
  }
  m.registrations.deregister_all();
  Instant const cap = now + m.coordinator.clock.budgets().deregister_timeout;
  m.orders.act(Deregister{*earlier_of(cap, m.coordinator.deadline()), returns});
}

void assume_earlier_registration(Machines& m) {
  bool const may_have_run = m.engine.state() != EngineState::waiting || m.settings.lifecycle_hooks;
  if (m.coordinator.phase() == Phase::starting && may_have_run) {
    m.registrations.assume_registered();  // an order that is not needed costs nothing
  }
  assume_withdrawn(m);
}

void assume_withdrawn(Machines& m) {
  if (is_silent(m)) {
    m.registrations.assume_registered();
  }
}

void withdraw_earlier_life(Machines& m, Instant now, Phase its_phase) {
  Phase const phase = m.coordinator.phase();
  bool const leaving = phase > Phase::serving && phase != Phase::exited;
  bool const asked = m.registrations.is_registered() || !m.registrations.is_untouched();
  if (its_phase >= Phase::serving && leaving && !asked) {
    m.registrations.assume_registered();
    deregister_everywhere(m, now);
  }
}

void apply_silence(Machines& m, Instant now) {
  if (m.own.has_ended() || m.coordinator.phase() != Phase::serving || m.own.is_restarting()) {
    return;
  }
  bool const registered = m.registrations.is_registered();
  if (is_silent(m) && registered) {
    deregister_everywhere(m, now, true);
  } else if (!is_silent(m) && !registered) {
    register_everywhere(m);
  }
}

}  // namespace lastcall::lifecycle::rules
