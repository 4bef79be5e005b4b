#include "supervisor/cli/run_sockets.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/error_text.hpp"
#include "base/socket_address.hpp"

namespace lastcall::cli {
namespace {

/// Whether the socket could be made there: we may write to its directory or to the nearest parent
/// that exists.
bool can_hold(std::string const& socket) {
  std::filesystem::path directory = std::filesystem::path(socket).parent_path();
  std::error_code error;
  while (!std::filesystem::exists(directory, error) && directory.has_relative_path()) {
    directory = directory.parent_path();
  }
  return ::access(directory.c_str(), W_OK | X_OK) == 0;
}

bool is_live(std::string const& socket) {
  if (socket.size() > kLongestSocketPath) {
    return false;
  }
  SocketAddress const address = unix_address(socket);
  Descriptor const fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // With EAGAIN the queue of the listening process is full.
  return fd && (::connect(fd.get(), address.get(), address.size) == 0 || errno == EAGAIN);
}

/// Empty if `serve` will be able to listen there.
std::string why_unusable(std::string const& socket) {
  if (is_live(socket)) {
    return "cannot listen on " + socket +
           ": another process listens there; is lastcall running already?";
  }
  return can_hold(socket) ? "" : "cannot listen on " + socket + ": its directory is not writable";
}

/// Whether no other user can have made the directory or put something into it; a link to such a
/// directory does not count.
bool is_private(std::string const& directory) {
  struct stat facts {};
  return ::lstat(directory.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) &&
         facts.st_uid == ::geteuid() && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Makes the directory that operators' commands find by themselves; empty if another `run` of this
/// user has it or another user has prepared it.
std::string make_known_directory(config::Environment const& environment) {
  std::string const socket = known_admin_socket(environment);
  std::string const place = std::filesystem::path(socket).parent_path().string();
  bool const is_made = !place.empty() && ::mkdir(place.c_str(), 0700) == 0;
  // The directory of a `run` that was killed is taken over. It has a socket, unlike the directory
  // of a `run` that is just starting.
  bool const is_left = !is_made && errno == EEXIST && is_private(place) &&
                       ::access(socket.c_str(), W_OK) == 0 && !is_live(socket);
  return is_made || is_left ? place : std::string();
}

std::string make_directory(config::Environment const& environment) {
  if (std::string known = make_known_directory(environment); !known.empty()) {
    return known;
  }
  std::string const base = environment("XDG_RUNTIME_DIR").value_or("/tmp");
  for (std::string place : {base, std::string("/tmp")}) {
    place += "/lastcall-XXXXXX";
    if (::mkdtemp(place.data()) != nullptr) {
      return place;
    }
  }
  return {};
}

}  // namespace

std::string known_admin_socket(config::Environment const& environment) {
  auto const runtime = environment("XDG_RUNTIME_DIR");
  return runtime ? *runtime + "/lastcall/admin.sock" : std::string();
}

bool is_there(std::string const& known_socket) {
  std::string const place = std::filesystem::path(known_socket).parent_path().string();
  return (::geteuid() == 0 || is_private(place)) && ::access(known_socket.c_str(), F_OK) == 0;
}

void discard(RunSockets const& sockets) {
  if (!sockets.private_directory.empty()) {
    ::rmdir(sockets.private_directory.c_str());
  }
}

RunSockets choose_sockets(config::Ipc const& ipc, config::Environment const& environment) {
  config::Ipc const defaults;
  bool const is_set = ipc.socket != defaults.socket || ipc.admin_socket != defaults.admin_socket;
  std::string problem = why_unusable(ipc.socket);
  if (problem.empty()) {
    problem = why_unusable(ipc.admin_socket);
  }
  if (is_set || problem.empty()) {
    return {.engine = ipc.socket,
            .admin = ipc.admin_socket,
            .private_directory = {},
            .problem = std::move(problem)};
  }
  std::string const directory = make_directory(environment);
  if (directory.empty()) {
    return {.engine = {},
            .admin = {},
            .private_directory = {},
            .problem = "cannot make a directory for the sockets in $XDG_RUNTIME_DIR or /tmp: " +
                       error_text(errno)};
  }
  return {.engine = directory + "/lastcall.sock",
          .admin = directory + "/admin.sock",
          .private_directory = directory,
          .problem = {}};
}

}  // namespace lastcall::cli
