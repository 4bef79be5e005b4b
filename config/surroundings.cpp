#include "config/surroundings.hpp"

#include <algorithm>
#include <string>

#include <unistd.h>

#include "config/decode_values.hpp"

namespace lastcall::config {
namespace {

/// The directory that contains everything that a pattern can match.
std::string fixed_directory(std::string const& pattern) {
  std::size_t const wildcard = std::min(pattern.find_first_of("*?["), pattern.size());
  std::size_t const slash = pattern.rfind('/', wildcard);
  return slash == 0 ? "/" : pattern.substr(0, slash);
}

}  // namespace

void look_around(Config const& config, Places const& places, Environment const& environment,
                 Problems& notes) {
  auto const note = [&](std::string key, std::string text) {
    Place place = nearest_place(places, key);
    notes.push_back({std::move(place), std::move(key), std::move(text)});
  };
  auto const look_for = [&](std::string key, std::string const& command) {
    if (!find_command(command, environment)) {
      note(std::move(key), quote(command) +
                               " is not an executable here; it is looked up in the supervisor's "
                               "container, not the engine's");
    }
  };
  for (std::size_t i = 0; i < config.cleanup.hooks.size(); ++i) {
    look_for("cleanup.hooks[" + std::to_string(i) + "].command",
             config.cleanup.hooks[i].command.front());
  }
  if (config.health.checks) {
    for (std::size_t i = 0; i < config.health.checks->size(); ++i) {
      if (auto const* exec = std::get_if<ExecCheck>(&(*config.health.checks)[i].kind)) {
        look_for("health.checks[" + std::to_string(i) + "].exec.command", exec->command.front());
      }
    }
  }
  for (std::size_t i = 0; i < config.cleanup.paths.size(); ++i) {
    std::string const directory = fixed_directory(config.cleanup.paths[i]);
    if (::access(directory.c_str(), F_OK) != 0) {
      note("cleanup.paths[" + std::to_string(i) + "]",
           quote(directory) +
               " does not exist here; only what is mounted into the supervisor's "
               "container can be removed");
    }
  }
}

}  // namespace lastcall::config
