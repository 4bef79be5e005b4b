// Records which sources name different models for a worker, so that the log has each such conflict
// once.
//
// Rules:
//  1. A conflict is new until it has ended; one call yields at most one that is new, because a
//     registry may bring thousands at once.
//  2. At most kMostReports are reported until there is no conflict any more: what two registries
//     write in turn does not fill the log.
//
// Thread rule: the owner's thread. Source: docs/router.md, 'Workers'.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "router/fleet.hpp"

namespace lastcall::router {

class SourceConflicts {
 public:
  static constexpr std::size_t kMostReports = 8;

  /// Receives all conflicts that exist now. Returns one that has to be reported, if any is new.
  std::optional<ModelConflict> note(std::vector<ModelConflict> const& all) {
    std::set<ModelConflict> now(all.begin(), all.end());
    auto const added = std::find_if(now.begin(), now.end(),
                                    [this](auto const& each) { return !known_.contains(each); });
    std::optional<ModelConflict> report;
    if (added != now.end() && reports_ < kMostReports) {
      report = *added;
      ++reports_;
    }
    reports_ = now.empty() ? 0 : reports_;
    known_ = std::move(now);
    return report;
  }
  std::size_t count() const { return known_.size(); }

 private:
  std::set<ModelConflict> known_;
  std::size_t reports_ = 0;  // since there was no conflict
};

}  // namespace lastcall::router
