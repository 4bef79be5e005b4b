#include "supervisor/runtime/listener/stop_plan.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

namespace lastcall::runtime {
namespace {

using lifecycle::Budgets;
using lifecycle::Instant;
using lifecycle::name;
using lifecycle::to_ms;

/// The latest end of each part of a stop, relative to its cause. A part that takes no time is left
/// out.
nlohmann::ordered_json parts_of(Budgets const& budgets, Instant began, Instant deadline) {
  std::array<std::pair<char const*, Instant>, 4> const ends{
      {{"deregistering", began + budgets.closed_after()},
       {"draining", budgets.stop_cancel_at(deadline)},
       {"cancelling", budgets.kill_cancel_at(deadline)},
       {"cleaning_up", deadline}}};
  nlohmann::ordered_json parts = nlohmann::ordered_json::array();
  Instant from = began;
  for (auto const& [part, end] : ends) {
    Instant const to = std::clamp(end, from, std::max(from, deadline));
    if (to > from) {
      parts.push_back(
          {{"name", part}, {"from_ms", to_ms(from - began)}, {"to_ms", to_ms(to - began)}});
    }
    from = to;
  }
  return parts;
}

}  // namespace

nlohmann::ordered_json plan_of(lifecycle::Lifecycle const& core,
                               lifecycle::Snapshot const& snapshot, Instant now) {
  lifecycle::StopClock const& clock = core.clock();
  auto const& stop = snapshot.stop;
  Instant const began = stop ? stop->cause_at : now;
  Budgets const budgets = stop ? clock.budgets() : clock.budgets_of(now);
  Instant const deadline = stop ? stop->deadline : budgets.deadline(now);
  nlohmann::ordered_json plan{{"under_way", stop.has_value()},
                              {"total_ms", to_ms(deadline - began)}};
  if (stop) {
    plan["cause"] = name(stop->cause.kind);
    plan["mode"] = name(stop->mode);
    plan["now_ms"] = to_ms(now - began);
    plan["left_ms"] = to_ms(deadline - now);
  }
  plan["parts"] = parts_of(budgets, began, deadline);
  return plan;
}

}  // namespace lastcall::runtime
