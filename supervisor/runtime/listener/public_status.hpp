// The part of the state that any client of the probe port may see: the document of `GET /status`.
//
// Rules:
//  1. It contains only figures, states and names: no URL, no path, no answer of a registry, no text
//     of a cause. `lastcall status` on the admin socket has those.
//  2. A key is absent if its value is unknown. Durations and ages are milliseconds relative to now;
//     the times of a plan are relative to its cause.
//  3. Keys may be added, but never change their meaning.
//
// Thread rule: the loop's thread. Source: docs/status-page.md, which describes each key.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/lifecycle.hpp"
#include "supervisor/runtime/listener/status.hpp"

namespace lastcall::runtime {

/// The part of a drain report that consists of figures and outcomes.
nlohmann::ordered_json public_report(std::string const& report);

class PublicStatus {
 public:
  /// Records that the engine's health has changed to this; the last kHistory changes are kept.
  void note(lifecycle::Snapshot const& snapshot, lifecycle::Instant now);
  /// Called when a drain or stop has ended with this report.
  void reported(std::string const& report, lifecycle::Instant now);

  std::string json(StatusSources const& sources, lifecycle::Instant now) const;

 private:
  static constexpr std::size_t kHistory = 16;

  struct Change {
    lifecycle::Instant at;
    lifecycle::Verdict verdict;
    std::string reason;
  };
  struct Reported {
    lifecycle::Instant at;
    std::string document;
  };

  nlohmann::ordered_json health_of(StatusSources const& sources,
                                   lifecycle::Snapshot const& snapshot,
                                   lifecycle::Instant now) const;

  std::deque<Change> history_;  // the newest last
  std::optional<Reported> report_;
};

}  // namespace lastcall::runtime
