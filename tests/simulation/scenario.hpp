// One scenario file: commands on virtual time, and the complete trace that they must give.
//
//   # why this file exists, in words
//   settings registries=1 checks=check0
//   given serving                      (what a normal start does; its trace is not shown)
//   at 0s signal TERM
//   -> remember deregistering cause=signal deadline=60s
//   at 70s                             (time passes: each timer that fires shows as `timer 5s`)
//   timer 5s
//   -> announce draining deadline=60s
//
// Rules:
//  1. Everything is shown: an action more or less is a failure.
//  2. What the core asks to remember is kept as the shim would, and handed over with the next
//     `shim` or `stop_record` that names no blob of its own. `restart` kills the core and makes a
//     new one that knows nothing else.
//  3. Other commands: `given serving|serving_run|loading|loading_run`, `status`, `restart`.
//
// Source: the data-driven tests of raft implementations (form only).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lastcall::simulation {

struct ScenarioStep {
  std::vector<std::string> above;  // comments and empty lines before the command
  std::string command;
  std::vector<std::string> trace;
};

struct Scenario {
  std::vector<ScenarioStep> steps;
  std::vector<std::string> below;  // comments after the last trace
};

Scenario parse_scenario(std::string const& text);
std::string text_of(Scenario const& scenario);
/// The same commands with the trace that the core gives now.
Scenario run_scenario(Scenario const& scenario);

std::string read_text_file(std::filesystem::path const& path);

}  // namespace lastcall::simulation
