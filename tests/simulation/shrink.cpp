// Makes a failing plan small: first the stimuli, then the world's manners and the settings.
#include <algorithm>
#include <functional>

#include "tests/simulation/run.hpp"

namespace lastcall::simulation {
namespace {

/// `change` is kept when the plan still fails in the same way.
bool try_change(Plan& plan, std::string const& violation, Tamper tamper,
                std::function<void(Plan&)> const& change) {
  Plan candidate = plan;
  change(candidate);
  if (run(candidate, false, tamper).violation != violation) {
    return false;
  }
  plan = std::move(candidate);
  return true;
}

bool drop_stimuli(Plan& plan, std::string const& violation, Tamper tamper) {
  bool dropped = false;
  for (std::size_t size = std::max<std::size_t>(plan.stimuli.size() / 2, 1); size > 0; size /= 2) {
    for (std::size_t from = 0; from < plan.stimuli.size();) {
      bool const done = try_change(plan, violation, tamper, [&](Plan& p) {
        auto const begin = p.stimuli.begin() + static_cast<std::ptrdiff_t>(from);
        auto const left = static_cast<std::ptrdiff_t>(p.stimuli.size() - from);
        p.stimuli.erase(begin, begin + std::min(static_cast<std::ptrdiff_t>(size), left));
      });
      dropped = dropped || done;
      from += done ? 0 : size;
    }
  }
  return dropped;
}

void calm_down(Plan& plan, std::string const& violation, Tamper tamper) {
  lifecycle::Settings const standard;
  std::array<std::function<void(Plan&)>, 19> const changes{
      [](Plan& p) { p.manners = Manners{}; },
      [&](Plan& p) { p.settings.shutdown = standard.shutdown; },
      [](Plan& p) { p.settings.pod_grace.reset(); },
      [](Plan& p) { p.settings.registries = 0; },
      [](Plan& p) { p.settings.health.checks.clear(); },
      [](Plan& p) { p.settings.cleanup_hooks = false; },
      [](Plan& p) { p.settings.cleanup_paths = false; },
      [](Plan& p) { p.settings.events = false; },
      [](Plan& p) { p.settings.gauge_refresh.reset(); },
      [](Plan& p) { p.settings.token = {}; },
      [](Plan& p) { p.settings.migrate = lifecycle::MigratePolicy::at_end; },
      [](Plan& p) { p.settings.second_signal = lifecycle::SecondSignal::ignore; },
      [](Plan& p) { p.settings.after_stop = lifecycle::AfterStop::automatic; },
      [](Plan& p) { p.settings.on_exit = lifecycle::OnExit::fatal; },
      [](Plan& p) { p.settings.lifecycle_hooks = false; },
      [](Plan& p) { p.manners.registry_repeats = p.manners.registry_fails = 0; },
      [](Plan& p) { p.manners.cleanup_fails = 0; },
      [](Plan& p) { p.manners.check_interval_ms = 60'000; },
      [](Plan& p) { p.manners.left_behind = kNever; },
  };
  for (auto const& change : changes) {
    try_change(plan, violation, tamper, change);
  }
}

}  // namespace

Plan shrink(Plan plan, Tamper tamper) {
  std::string const violation = run(plan, false, tamper).violation;
  if (violation.empty()) {
    return plan;
  }
  for (int round = 0; round < 4; ++round) {
    bool const dropped = drop_stimuli(plan, violation, tamper);
    calm_down(plan, violation, tamper);
    if (!dropped) {
      break;
    }
  }
  return plan;
}

}  // namespace lastcall::simulation
