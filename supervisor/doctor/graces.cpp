// Reports the configuration's own warnings, and checks the time that a stop has.
#include <chrono>
#include <filesystem>
#include <system_error>

#include <nlohmann/json.hpp>

#include "config/presets.hpp"
#include "core/budgets.hpp"
#include "supervisor/doctor/findings.hpp"

namespace lastcall::doctor {
namespace {

/// The longest stop that ends within the time that `docker stop` grants by default.
constexpr lifecycle::Duration kFitsIntoDocker = std::chrono::seconds(10) - lifecycle::kPodMargin;

std::string tenths(lifecycle::Duration duration) {
  auto const whole = duration.count() / 1'000;
  auto const rest = duration.count() % 1'000 / 100;
  return std::to_string(whole) + (rest == 0 ? "" : "." + std::to_string(rest)) + " s";
}

}  // namespace

void examine_configuration(Visit const& visit, Findings& findings) {
  for (auto const* const list : {&visit.loaded.warnings, &visit.loaded.notes}) {
    for (config::Problem const& problem : *list) {
      findings.push_back({"configuration", config::to_text(problem)});
    }
  }
}

void examine_graces(Visit const& visit, Findings& findings) {
  config::Loaded const& loaded = visit.loaded;
  auto const plan = lifecycle::derive_budgets(config::shutdown_settings(loaded.config),
                                              loaded.grace.value, lifecycle::Duration{0});
  lifecycle::Budgets const& budgets = plan.budgets;
  bool const is_given = visit.environment("LASTCALL_POD_GRACE_SECONDS").has_value();
  std::error_code error;
  if (visit.in_pod() && !is_given) {
    findings.push_back({"graces",
                        "LASTCALL_POD_GRACE_SECONDS is not set in this pod, so 30 s are "
                        "assumed: set it to terminationGracePeriodSeconds in both containers"});
  } else if (!is_given && budgets.total > kFitsIntoDocker &&
             std::filesystem::exists("/.dockerenv", error)) {
    findings.push_back({"graces",
                        "`docker stop` kills this container after 10 s unless it grants more: set "
                        "LASTCALL_POD_GRACE_SECONDS to 10, or use a `--time` above "
                        "shutdown.grace_period and set LASTCALL_POD_GRACE_SECONDS to it"});
  }
  lifecycle::Duration const drain = budgets.total - budgets.reserve - budgets.settle;
  if (2 * drain < budgets.total) {
    findings.push_back(
        {"graces", "requests have only " + tenths(drain) + " of the stop's " +
                       tenths(budgets.total) +
                       "; the rest is reserved for cleanup: grant more (`lastcall plan` shows "
                       "the timeline), or lower shutdown.cleanup_reserve"});
  }
}

}  // namespace lastcall::doctor
