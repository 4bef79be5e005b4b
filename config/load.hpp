// Finds, reads and checks the configuration: the only way to get a Config from outside.
//
// Rules:
//  1. The sources are applied one on top of the other: the defaults, the file, the variables that
//     the key table names, and `--set` in the order given.
//  2. The file is the one that --config names, else LASTCALL_CONFIG, else kDefaultPath if it
//     exists. A file that was named must exist; without any file the defaults apply. A pipe is read
//     to its end, unless it will be read again.
//  3. Every problem of every source is reported at once. With any error the config must not be
//     used.
//  4. Warnings are about values that are allowed but look wrong: budgets that do not fit, keys
//     without effect. `check --strict` treats them as errors.
//  5. Features that this version does not have yet are checked only for a configuration that is to
//     run or that the user asks about; reading alone accepts them.
//  6. Notes are about files that are missing in this container, which may be in another one:
//     commands that are not here, directories that do not exist. They are collected on request and
//     are never errors.
//
// Reads the one file, and looks for the files that notes are about; no thread rule.
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
  bool look_around = false;    // collect notes
  bool is_read_again = false;  // by a restart or a reload: a pipe, which is empty then, is refused
};

struct Loaded {
  Config config;
  std::string source;  // the file that was read; empty if there was none
  PodGrace grace;
  bool grace_period_is_given = false;  // by any source; otherwise it has its default
  Problems errors;
  Problems warnings;
  Problems notes;
};

Loaded load(LoadOptions const& options, Environment const& environment);

/// A key whose value differs between two configurations.
struct Difference {
  std::string key;
  std::string before;  // YAML without secrets and URL queries; empty: unset
  std::string after;
  bool live = false;  // may change without a restart
};

/// The changes that a reload would make.
std::vector<Difference> differences(Config const& before, Config const& after);
/// The same for any two bindings of one key table.
std::vector<Difference> differences(Keys const& before, Keys const& after);

/// Copies what differences() calls live into `config`, and nothing else.
void apply_live(Config& config, Config const& after);
/// The same for any two bindings of one key table; the caller handles lists of sections.
void apply_live(Keys const& to, Keys const& from);

}  // namespace lastcall::config
