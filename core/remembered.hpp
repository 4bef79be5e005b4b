// The state that must survive a supervisor: the opaque blob that the shim holds (or `stop.json`).
//
// Invariants:
//  1. At most 1 KiB, one line of `key=value` words; unknown keys are ignored, so an older
//     supervisor reads a newer one's blob.
//  2. It is enough to continue in the same phase with the original deadline; requests and endpoints
//     are announced again by their peers.
//
// Pure functions, no thread rule.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/responsiveness.hpp"
#include "core/shutdown_coordinator.hpp"

namespace lastcall::lifecycle {

/// Requests that ended since the drain or stop began, by Outcome.
using OutcomeCounts = std::array<std::uint64_t, kOutcomes>;

struct Remembered {
  ShutdownCoordinator::Progress progress;
  std::uint32_t cleanup_step = 0;
  std::uint32_t sdk_peers = 0;
  bool died_with_work = false;
  bool aborted_with_work = false;  // a fatal event ended the drain in the middle of its work
  bool engine_killed = false;
  std::string boot;            // boot of the shim whose stop this is, or empty
  bool own_container = false;  // that shim is in another container
  bool ready = false;          // every check had passed once
  Silence silence = Silence::none;
  bool relayed = false;         // its ingress reported what was in flight, and that ended with it
  std::uint64_t in_flight = 0;  // users' requests at the time of writing
  std::uint64_t relaying = 0;   // entries of the ingress among them
  std::optional<std::uint64_t> unseen;  // as Unseen::all, of the lives before
  /// Without a shim, the reason why the engine must not serve again.
  std::optional<std::string> condemned;
  OutcomeCounts outcomes{};
  std::optional<std::uint64_t> in_flight_at_end;  // if the drain ended for lack of time
};

std::string encode(Remembered const& remembered);
/// The result is absent if the blob cannot be decoded.
std::optional<Remembered> decode_remembered(std::string_view blob);

}  // namespace lastcall::lifecycle
