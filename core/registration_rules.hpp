// When the registries are asked to take us in, and when to remove us.
//
// Owned by the core's thread. Source: specification, 'Phase 1'; specification, 'Discovery'.
#pragma once

#include "core/machines.hpp"

namespace lastcall::lifecycle::rules {

void register_everywhere(Machines& m);
/// `returns`: they will be asked to take us in again as soon as the engine answers.
void deregister_everywhere(Machines& m, Instant now, bool returns = false);
/// Before a drain or stop: an earlier life may have registered without being able to report it.
void assume_earlier_registration(Machines& m);
/// While the engine is silent not every registry was asked, and not all may have confirmed.
void assume_withdrawn(Machines& m);
/// Our earlier life registered: the same keys are ours to remove, confirmed or not.
void withdraw_earlier_life(Machines& m, Instant now, Phase its_phase);
/// Joint rule: an engine that does not answer is offered nowhere until it answers again.
void apply_silence(Machines& m, Instant now);

}  // namespace lastcall::lifecycle::rules
