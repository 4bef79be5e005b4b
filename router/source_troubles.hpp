// Records which sources of workers cannot be read at present, and why.
//
// Rules:
//  1. A reason is new once for each source until the source can be read again, and a source has at
//     most kMostReasons: what a registry writes into its errors does not fill the log.
//  2. Several sources may have the same name; the name is troubled while any of them is, and each
//     different reason has a line.
//  3. The lines are built only if they have changed: a source that fails is read again and again.
//
// Thread rule: the owner's thread. Source: docs/router.md, 'Workers'.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace lastcall::router {

class SourceTroubles {
 public:
  static constexpr std::size_t kMostReasons = 8;

  /// Returns whether the reason is a new one.
  bool failed(std::size_t number, std::string const& source, std::string const& reason);
  /// Returns whether the source could not be read before.
  bool ended(std::size_t number, std::string const& source);

  bool has(std::string const& source) const { return by_name_.contains(source); }
  /// A line for each name and latest reason; absent if nothing has changed since the last call.
  std::optional<std::string> changed_text();

 private:
  struct Trouble {
    std::set<std::string> reasons;
    std::string latest;
  };
  std::map<std::string, std::map<std::size_t, Trouble>> by_name_;  // by number of the source
  bool is_changed_ = false;
};

}  // namespace lastcall::router
