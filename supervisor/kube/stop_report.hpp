// The facts that are known about one stop of an engine: from the drain report in a container's
// termination message, or from the Event that sums it up if the message is gone.
//
// Pure, no thread rule. Source: docs/operations.md, 'The drain report'; supervisor/runtime/record.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/vocabulary.hpp"

namespace lastcall::kube {

struct StopReport {
  std::string text;  // as it was written; equal texts report the same stop
  std::string cause;
  bool is_graceful = true;
  std::array<std::uint64_t, lifecycle::kOutcomes> requests{};
  /// The number of requests that the engine still had when its time was over, if single requests
  /// were not known.
  std::uint64_t cut = 0;
  /// Whether the requests in flight were reported, or there cannot have been any.
  bool is_known = false;

  std::uint64_t lost() const;
};

/// The report at the beginning of a termination message; nothing if there is none.
std::optional<StopReport> read_report(std::string_view message);

/// The report that an Event with the reason Drained or DrainIncomplete sums up.
std::optional<StopReport> read_event(std::string_view reason, std::string_view message);

}  // namespace lastcall::kube
