// lastcall's configuration as an injection reads it: the file, what the command line and the pod's
// annotations set on top of it, and the words that the sidecar gets of all that.
//
// Rules:
//  1. The file reaches the pod unchanged; everything else becomes a word `--set=KEY=VALUE`, sorted
//     by key, so that equal input gives equal pods.
//  2. A key that was given is never set by injection.
//  3. On top of the file stands the command line, on top of that the pod's own word
//     (lastcall.dev/config.KEY).
//
// Nothing is checked here: `lastcall check` knows what a value may be. Pure values, no thread rule.
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
  /// Unless the key, or a part of it, was given.
  void suggest(std::string const& key, std::string value);

  bool has(std::string_view key) const;
  /// The text of a scalar; empty where there is none.
  std::string get(std::string_view key) const;

  /// Texts at `key` in the items of a list of the file.
  std::vector<std::string> texts_of_items(std::string_view list, std::string_view key) const;

  /// "KEY=VALUE", sorted by key.
  std::vector<std::string> overrides() const;

 private:
  config::Node file_;
  std::map<std::string, std::string, std::less<>> given_;
};

}  // namespace lastcall::inject
