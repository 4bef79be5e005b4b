// The checks of `lastcall doctor`, and their findings: one sentence each, with the cause and the
// fix.
//
// Rules:
//  1. A finding is something that will do harm, not a possible improvement; its text names the key,
//     the path or the number, and ends with what to do.
//  2. Nothing is changed and nothing is left behind: ports are bound for an instant, the
//     permissions of directories are read, servers get a connection or one GET.
//  3. Ports and sockets that a running supervisor uses are not findings. The supervisor is asked
//     instead; if it does not answer this user, that is the finding.
//
// Thread rule: main's thread; each network operation ends within kReach.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/load.hpp"

namespace lastcall::doctor {

inline constexpr std::chrono::milliseconds kReach{1'000};

struct Finding {
  std::string_view area;  // "ports" and "registries", for example
  std::string text;
};
using Findings = std::vector<Finding>;

/// Whether a supervisor answers at the configured socket.
enum class Speaks : std::uint8_t { no, yes, not_to_us, perhaps_not_to_us };

struct Visit {
  config::Loaded const& loaded;
  config::Environment const& environment;
  Speaks speaks = Speaks::no;
  /// The status of a supervisor that runs here; null if there is none or it does not answer us.
  nlohmann::ordered_json const& status;

  bool in_pod() const { return environment("KUBERNETES_SERVICE_HOST").has_value(); }
};

void examine_configuration(Visit const& visit, Findings& findings);
void examine_ports(Visit const& visit, Findings& findings);
void examine_sockets(Visit const& visit, Findings& findings);
void examine_graces(Visit const& visit, Findings& findings);
void examine_engine(Visit const& visit, Findings& findings);
void examine_registries(Visit const& visit, Findings& findings);

}  // namespace lastcall::doctor
