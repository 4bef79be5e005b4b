// Rules for when the registries are ordered to register this instance, and when to remove it.
//
// Owned by the core's thread. Source: specification, 'Phase 1'; specification, 'Discovery'.
#pragma once

#include "core/machines.hpp"

namespace lastcall::lifecycle::rules {

void register_everywhere(Machines& m);
/// `returns`: they will register this instance again as soon as the engine answers.
void deregister_everywhere(Machines& m, Instant now, bool returns = false);
/// Before a drain or stop: an earlier life may have registered without being able to report it.
void assume_earlier_registration(Machines& m);
/// While the engine was silent not every registry had an order to deregister, and not all may have
/// confirmed.
void assume_withdrawn(Machines& m);
/// An earlier life registered: this one must remove the same keys, whether they were confirmed or
/// not.
void withdraw_earlier_life(Machines& m, Instant now, Phase its_phase);
/// Joint rule: an engine that does not answer is not registered until it answers again.
void apply_silence(Machines& m, Instant now);

}  // namespace lastcall::lifecycle::rules
