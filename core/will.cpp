#include "core/will.hpp"

namespace lastcall::lifecycle {

std::optional<LeaveWill> will_of(WillFacts const& facts) {
  if (!facts.stop || facts.phase == Phase::exited) {
    return std::nullopt;
  }
  bool const is_certain = facts.stop->mode == StopMode::fatal || facts.stop->in_starting ||
                          facts.died_with_work || facts.engine_has_ended;
  return LeaveWill{.phase = facts.phase,
                   .mode = facts.stop->mode,
                   .deadline = facts.stop->deadline,
                   .code = is_certain ? std::optional(facts.code) : std::nullopt};
}

}  // namespace lastcall::lifecycle
