// Finds, reads and checks the configuration: the only way from the outside to a Config.
//
// Rules:
//  1. Sources, each on top of the one before: the defaults, the file, the variables that the key
//     table names, `--set` in the order given.
//  2. The file is the one of --config, else of LASTCALL_CONFIG, else kDefaultPath if it exists.
//     A file that was named must exist; none at all means the defaults.
//  3. Every problem of every source is reported at once. With any error the config must not be
//     used.
//  4. Warnings are about values that are allowed and look wrong: budgets that do not fit, keys
//     without effect. `check --strict` treats them as errors.
//  5. Features that this version does not have yet are judged only for a configuration that is to
//     run, or is asked about: all of it can be read.
//  6. Notes are about this container's files, which may be another's: commands that are not here,
//     directories that do not exist. They are looked for on request, and are never errors.
//
// Reads the one file, and looks for those of the notes; no thread rule.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/environment.hpp"
#include "config/keys.hpp"
#include "config/problem.hpp"
#include "config/schema.hpp"

namespace lastcall::config {

inline constexpr char const* kDefaultPath = "/etc/lastcall/lastcall.yaml";

struct LoadOptions {
  std::optional<std::string> path;     // --config
  std::vector<std::string> overrides;  // --set, each "a.b=c"
  std::string default_path = kDefaultPath;
  bool look_around = false;  // collect notes
};

struct Loaded {
  Config config;
  std::string source;  // the file that was read; empty: none
  PodGrace grace;
  bool grace_period_is_given = false;  // by whatever source; else it has its default
  Problems errors;
  Problems warnings;
  Problems notes;
};

Loaded load(LoadOptions const& options, Environment const& environment);

/// A key whose value differs between two configurations.
struct Difference {
  std::string key;
  std::string before;  // as YAML; empty: unset; of secrets only that there is one, no queries
  std::string after;
  bool live = false;  // may change without a restart
};

/// The changes that a reload would make.
std::vector<Difference> differences(Config const& before, Config const& after);
/// The same of any two bindings of one key table.
std::vector<Difference> differences(Keys const& before, Keys const& after);

/// Copies what differences() calls live into `config`, and nothing else.
void apply_live(Config& config, Config const& after);
/// The same of any two bindings of one key table; lists of sections are left to the caller.
void apply_live(Keys const& to, Keys const& from);

}  // namespace lastcall::config
