#include "ipc/listeners.hpp"

#include <utility>
#include <variant>

namespace lastcall::ipc {
namespace {

Listener::Handlers handlers_of(Listeners::Handlers const& handlers, bool is_admin) {
  return {[accepted = handlers.accepted, is_admin](Descriptor fd) {
            accepted(std::move(fd), is_admin);
          },
          handlers.trouble};
}

}  // namespace

Listeners::Listeners(boost::asio::io_context& io, ServerOptions const& options,
                     Handlers const& handlers)
    : options_(options),
      trouble_(handlers.trouble),
      engines_(io, handlers_of(handlers, false)),
      admins_(io, handlers_of(handlers, true)) {}

std::optional<std::string> Listeners::open() {
  if (auto problem = make_directories(options_.engine_socket, options_.admin_socket)) {
    return problem;
  }
  std::variant<Descriptor, std::string> lock;
  if (!options_.admin_socket.empty()) {
    lock = lock_beside(options_.admin_socket);
    if (auto* const problem = std::get_if<std::string>(&lock)) {
      return std::move(*problem);
    }
  }
  // Once this process has the admin socket, a file at the name of the engine's socket was put there
  // by an engine, and must not keep us from starting.
  Squatters squatters = Squatters::refused;
  if (!options_.admin_socket.empty()) {
    if (auto problem = admins_.open(options_.admin_socket, options_.mode, Squatters::refused)) {
      return problem;
    }
    squatters = Squatters::cleared;
  }
  auto problem = engines_.open(options_.engine_socket, options_.mode, squatters);
  if (problem) {
    admins_.close();
  }
  return problem;
}

void Listeners::follow() {
  for (Listener* const each : {&engines_, &admins_}) {
    if (std::string const done = each->follow(); !done.empty()) {
      trouble_(done);
    }
  }
}

void Listeners::close() {
  engines_.close();
  admins_.close();
}

}  // namespace lastcall::ipc
