// Chooses the places of the sockets for `lastcall run`.
//
// Thread rule: none; called once, from main. Source: the XDG base directory specification
// ($XDG_RUNTIME_DIR), mkdtemp(3).
#pragma once

#include <optional>
#include <string>

#include "config/environment.hpp"
#include "config/schema.hpp"

namespace lastcall::cli {

struct RunSockets {
  std::string engine;
  std::string admin;
  std::string private_directory;  // made for this run; empty: the configuration's places are used
  std::string problem;            // if not empty, there is no place for them
};

/// The admin socket of a user's first `run` that cannot use the default places; empty if this user
/// has no $XDG_RUNTIME_DIR.
std::string known_admin_socket(config::Environment const& environment);
/// Whether a `run` of this user has made it; root may connect to any supervisor.
bool is_there(std::string const& known_socket);

/// Removes the directory that was made, if nothing will run in it.
void discard(RunSockets const& sockets);

RunSockets choose_sockets(config::Ipc const& ipc, config::Environment const& environment);

}  // namespace lastcall::cli
