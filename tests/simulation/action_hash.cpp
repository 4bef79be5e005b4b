#include "tests/simulation/action_hash.hpp"

#include "core/member_mixer.hpp"

namespace lastcall::simulation {

std::uint64_t hash_of(std::span<lifecycle::Action const> actions) {
  lifecycle::Mixer mixer{lifecycle::Instant{}};
  for (lifecycle::Action const& action : actions) {
    lifecycle::mix(mixer, action);
  }
  return mixer.hash;
}

}  // namespace lastcall::simulation
