// lastcall's configuration as an injection reads it: the file, the settings of the command line and
// of the pod's annotations on top of it, and the sidecar's arguments that result.
//
// Rules:
//  1. The file reaches the pod unchanged; everything else becomes an argument `--set=KEY=VALUE`,
//     sorted by key, so that equal input gives equal pods.
//  2. The injection never sets a key that was given.
//  3. The command line overrides the file, and the pod's own annotation (lastcall.dev/config.KEY)
//     overrides both.
//
// Nothing is checked here: `lastcall check` knows which values are valid. Pure values, no thread
// rule.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/document.hpp"

namespace lastcall::inject {

class Settings {
 public:
  /// `file` is the text of lastcall.yaml, empty for none; `overrides` are "KEY=VALUE".
  Settings(std::string_view file, std::vector<std::string> const& overrides);

  void set(std::string key, std::string value);
  /// Sets the key unless it, or a part of it, was given.
  void suggest(std::string const& key, std::string value);

  bool has(std::string_view key) const;
  /// The text of a scalar; empty if there is none.
  std::string get(std::string_view key) const;

  /// The texts at `key` in the items of a list in the file.
  std::vector<std::string> texts_of_items(std::string_view list, std::string_view key) const;

  /// "KEY=VALUE", sorted by key.
  std::vector<std::string> overrides() const;

 private:
  config::Node file_;
  std::map<std::string, std::string, std::less<>> given_;
};

}  // namespace lastcall::inject
