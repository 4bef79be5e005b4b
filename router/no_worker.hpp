// The refusals of requests for which there is no worker at present, and may be one soon.
//
// Pure, no thread rule. Source: docs/router.md, 'Workers'.
#pragma once

#include "relay/refusal.hpp"

namespace lastcall::router {

inline relay::Refusal no_worker() {
  return {503, "no_worker", "no worker can be reached at present", true, {}};
}

inline relay::Refusal last_worker_left() {
  return {503, "no_worker", "the last worker of this model has left", true, {}};
}

}  // namespace lastcall::router
