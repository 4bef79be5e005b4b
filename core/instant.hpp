// Time as the core sees it: an argument, never a clock (base/instant.hpp).
//
// Nothing in core reads a clock; the shell passes `now` to each call. No thread rule: plain values.
#pragma once

#include "base/instant.hpp"

namespace lastcall::lifecycle {

using lastcall::Duration;
using lastcall::earlier_of;
using lastcall::Instant;
using lastcall::instant_from_ms;
using lastcall::MonotonicLine;
using lastcall::to_ms;

}  // namespace lastcall::lifecycle
