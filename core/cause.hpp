// The reasons for a stop. The first cause of a stop wins and fixes its mode. Values only.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/vocabulary.hpp"

namespace lastcall::lifecycle {

enum class CauseKind : std::uint8_t {
  signal,         // TERM, INT or QUIT at the shim
  own_signal,     // the same at the supervisor: no shim is beside it, or its pod is being deleted
  operator_stop,  // drain --exit
  engine_exited,
  dead,        // health verdict
  wedged,      // health verdict
  fatal,       // an SDK reported it
  child_died,  // a critical peer's process is gone
  shim_lost,
};

namespace vocabulary {
template <>
inline constexpr std::array<std::string_view, 9> kWordsOf<CauseKind>{
    "signal", "own_signal", "operator",   "engine_exited", "dead",
    "wedged", "fatal",      "child_died", "shim_lost"};

}  // namespace vocabulary

struct Cause {
  CauseKind kind = CauseKind::signal;
  /// The signal's name, the check's failure, the SDK's reason and traceback.
  std::string detail;
};

}  // namespace lastcall::lifecycle
