// preStop mode: another engine is waited for, where no shim tells of it. Pure values, no thread
// rule.
#pragma once

#include <optional>
#include <string>

#include "core/action.hpp"
#include "core/instant.hpp"

namespace lastcall::lifecycle {

struct Awaiting {
  bool condemned = false;        // after a stop of ours: only its liveness probe ends it
  std::optional<Instant> until;  // it counts as replaced then
  Instant since;
  Verdict verdict = Verdict::starting;  // that it was given up with
  std::string why;
};

}  // namespace lastcall::lifecycle
