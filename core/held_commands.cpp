#include "core/held_commands.hpp"

#include <utility>

#include "core/member_mixer.hpp"

namespace lastcall::lifecycle {

HeldCommands::HeldCommands() = default;
HeldCommands::HeldCommands(HeldCommands const& other) = default;
HeldCommands::~HeldCommands() = default;

void HeldCommands::add(Event const& command) {
  commands_.push_back(command);
}

std::vector<Event> HeldCommands::take() {
  return std::exchange(commands_, {});
}

void HeldCommands::fingerprint(Mixer& m) const {
  for (Event const& command : commands_) {
    mix(m, command);
  }
}

}  // namespace lastcall::lifecycle
