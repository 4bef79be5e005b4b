// The modes that workers are assumed to have for continuing an answer at the endpoint of one
// request.
//
// Rules:
//  1. `migration.by` sets the mode for all of them, or each has the mode that probes have found
//     (worker_probes.hpp).
//  2. A worker about which nothing is known is assumed to continue by text, and is preferred less
//     than all others; what it sends is verified anyway.
//
// Pure, no thread rule. Source: docs/router.md, 'What a worker can do'.
#pragma once

#include "router/continuation/eligibility.hpp"
#include "router/fleet.hpp"
#include "router/settings.hpp"

namespace lastcall::router {

struct WorkerModes {
  MigrateBy by = MigrateBy::off;
  continuation::Endpoint endpoint = continuation::Endpoint::other;
  bool are_plain = false;  // a worker did not accept added fields, so none are added any more

  continuation::Mode of(Worker const& worker) const;
  bool may_take_ids() const { return by != MigrateBy::off && by != MigrateBy::text; }
  /// The best mode that any worker may have.
  continuation::Mode best(continuation::Known const& known) const;
  /// How well that worker would continue, as far as that is known.
  Fit fit(continuation::Known const& known, Worker const& worker) const;
};

}  // namespace lastcall::router
