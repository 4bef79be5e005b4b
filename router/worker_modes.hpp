// The modes that workers are assumed to have where an answer goes on, at the endpoint of one
// request.
//
// Rules:
//  1. `migration.by` sets it for all of them, or each is what it was found to be
//     (worker_probes.hpp).
//  2. A worker of which nothing is known is taken for one that goes on by text, after all others:
//     what it sends is verified anyway.
//
// Pure, no thread rule. Source: docs/router.md, 'What a worker can'.
#pragma once

#include "router/continuation/eligibility.hpp"
#include "router/fleet.hpp"
#include "router/settings.hpp"

namespace lastcall::router {

struct WorkerModes {
  MigrateBy by = MigrateBy::off;
  continuation::Endpoint endpoint = continuation::Endpoint::other;
  bool are_plain = false;  // one of them did not take what was added: nothing is added any more

  continuation::Mode of(Worker const& worker) const;
  bool may_take_ids() const { return by != MigrateBy::off && by != MigrateBy::text; }
  /// The one that would do best, among those that a worker may have.
  continuation::Mode best(continuation::Known const& known) const;
  /// How well that worker would go on with what is known.
  Fit fit(continuation::Known const& known, Worker const& worker) const;
};

}  // namespace lastcall::router
