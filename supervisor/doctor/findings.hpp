// The checks of `lastcall doctor`, and their findings: one sentence each, with the cause and the
// fix.
//
// Rules:
//  1. A finding is what will do harm, not what could be nicer; its text names the key, the path or
//     the number, and ends with what to do.
//  2. Nothing is changed and nothing is left behind: ports are tried for an instant, directories
//     are asked for their rights, servers get a connection or one GET.
//  3. What a running supervisor holds is not complained of: it is asked instead, and where it does
//     not answer this user, that is the finding.
//
// Thread rule: main's thread; each look at a network ends within kReach.
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
  std::string_view area;  // one of kAreas
  std::string text;
};
using Findings = std::vector<Finding>;

inline constexpr std::string_view kAreas[] = {"configuration", "ports",  "sockets",   "uids",
                                              "graces",        "engine", "registries"};

/// Whether a supervisor answers at the configured socket.
enum class Speaks : std::uint8_t { no, yes, not_to_us, perhaps_not_to_us };

struct Visit {
  config::Loaded const& loaded;
  config::Environment const& environment;
  Speaks speaks = Speaks::no;
  /// The report of a supervisor that runs here about itself; null: none reports, or not to us.
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
