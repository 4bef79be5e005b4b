// One lifecycle: a plan, its world, a core for each life of the supervisor, and the checker.
//
// Rules:
//  1. Each core's events are recorded and given to a fresh core afterwards: its actions must be the
//     same, bit for bit (that is what `lastcall replay` promises).
//  2. The result of a plan is a pure function of the plan.
//
// One thread owns a run; runs share nothing.
#pragma once

#include <string>
#include <vector>

#include "tests/simulation/plan.hpp"

namespace lastcall::simulation {

/// Breaks the core's actions on purpose, to prove that the checker sees it.
enum class Tamper : std::uint8_t {
  none,
  exit_twice,
  exit_with_another_code,
  exit_after_the_deadline,
  forget_to_remember,
  remember_last,
  leave_no_will,
  leave_a_will_last,
  signal_before_deregister,
  kill_at_once,
  count_a_request_twice,
  lose_a_request,
  skip_a_phase,
  move_the_deadline,
  start_after_exit,
  keep_a_hook,
  release_a_hook_twice,
  serve_what_goes,
  admit_twice,
  lose_an_admission,
  refuse_twice,
};
inline constexpr std::uint32_t kTampers = 21;
char const* name(Tamper tamper);

struct RunResult {
  std::string violation;  // empty: all invariants held
  Instant at;
  std::uint64_t steps = 0;
  std::uint32_t lives = 0;
  bool stopped = false;            // a stop ran to its end
  bool failed_safe = false;        // the shim had to end it alone
  std::vector<std::string> trace;  // when asked for: a scenario, readable and runnable
};

RunResult run(Plan const& plan, bool with_trace = false, Tamper tamper = Tamper::none);

/// Drops stimuli and calms the world's manners as long as the run still fails in the same way.
Plan shrink(Plan plan, Tamper tamper = Tamper::none);

}  // namespace lastcall::simulation
