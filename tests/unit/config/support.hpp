// Loads YAML texts for tests, through a file as users do.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "config/load.hpp"

namespace lastcall::config {

/// A directory of this test's own, removed at its end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lastcall-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(TemporaryDirectory const&) = delete;
  TemporaryDirectory& operator=(TemporaryDirectory const&) = delete;

  std::string operator/(std::string const& name) const { return (path_ / name).string(); }

  std::string write(std::string const& name, std::string const& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return *this / name;
  }

 private:
  std::filesystem::path path_;
};

using Variables = std::map<std::string, std::string>;

inline Environment environment_of(Variables variables) {
  return [variables = std::move(variables)](char const* name) -> std::optional<std::string> {
    auto const found = variables.find(name);
    return found == variables.end() || found->second.empty() ? std::nullopt
                                                             : std::optional(found->second);
  };
}

/// What loading `yaml` gives; the file is called "c.yaml" in problems.
inline Loaded load_text(std::string const& yaml, std::vector<std::string> overrides = {},
                        Variables variables = {}) {
  TemporaryDirectory const directory;
  LoadOptions options;
  options.path = directory.write("c.yaml", yaml);
  options.overrides = std::move(overrides);
  Loaded loaded = load(options, environment_of(std::move(variables)));
  for (Problems* problems : {&loaded.errors, &loaded.warnings, &loaded.notes}) {
    for (Problem& problem : *problems) {
      if (problem.place.source == *options.path) {
        problem.place.source = "c.yaml";
      }
    }
  }
  return loaded;
}

inline std::vector<std::string> texts(Problems const& problems) {
  std::vector<std::string> lines;
  for (Problem const& problem : problems) {
    lines.push_back(to_text(problem));
  }
  return lines;
}

inline std::string read_text(std::string const& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace lastcall::config
