// Checks whether lastcall may listen on its ports, and whether another process already does. The
// configuration itself checks that no two of its own listeners clash.
#include <cerrno>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error_text.hpp"
#include "supervisor/doctor/findings.hpp"
#include "supervisor/doctor/reach.hpp"

namespace lastcall::doctor {
namespace {

struct Listener {
  std::string key;
  config::Address address;
};

std::vector<Listener> listeners_of(config::Config const& config) {
  std::vector<Listener> listeners{{"probes.listen", config.probes.listen}};
  if (config.ingress.enabled) {
    listeners.push_back({"ingress.listen", config.ingress.listen});
  }
  if (config.lifecycle.enabled && config.lifecycle.http) {
    listeners.push_back({"lifecycle.listen", config.lifecycle.listen});
  }
  return listeners;
}

std::string place_text(config::Address const& address) {
  return text_of({.host = address.host, .port = address.port});
}

std::string port_problem(Listener const& listener) {
  std::string const at = listener.key + ": " + place_text(listener.address);
  std::string const other = "set " + listener.key + " to a free port";
  switch (int const error = listen_error(listener.address.host, listener.address.port)) {
    case 0:
      return {};
    case EADDRINUSE:
      return at + " is taken by another process: end it (`ss -ltnp` names it), or " + other;
    case EACCES:
      return at + " needs the right to use ports below 1024: " + other + " above";
    case EADDRNOTAVAIL:
      return at + " is not an address of this machine: set " + listener.key + " to one, or to [::]";
    default:
      return at + ": " + error_text(error) + ": " + other;
  }
}

}  // namespace

void examine_ports(Visit const& visit, Findings& findings) {
  if (visit.speaks != Speaks::no) {
    return;  // the supervisor itself uses them
  }
  for (Listener const& listener : listeners_of(visit.loaded.config)) {
    if (std::string problem = port_problem(listener);
        listener.address.port != 0 && !problem.empty()) {
      findings.push_back({"ports", std::move(problem)});
    }
  }
}

}  // namespace lastcall::doctor
