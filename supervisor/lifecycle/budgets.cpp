#include "supervisor/lifecycle/budgets.hpp"

#include <algorithm>

namespace lastcall::lifecycle {
namespace {

std::string ms_text(Duration d) {
  return std::to_string(d.count()) + "ms";
}

void warn_if_cut(std::vector<std::string>& warnings, char const* key, Duration asked, Duration got,
                 Duration total) {
  if (got < asked) {
    warnings.push_back(std::string("shutdown.") + key + ": " + ms_text(asked) + " cut to " +
                       ms_text(got) + " to fit into a total of " + ms_text(total));
  }
}

Duration total_within(ShutdownSettings const& settings, std::optional<Duration> pod_grace,
                      Duration spent) {
  Duration const wanted = settings.grace_period;
  if (!pod_grace || *pod_grace - kPodMargin - spent >= wanted) {
    return wanted;
  }
  return std::max(*pod_grace - kPodMargin - spent, kMinimumTotal);
}

}  // namespace

Budgets clamp_to_total(ShutdownSettings const& settings, Duration total) {
  Budgets b;
  b.total = std::max(total, kMinimumTotal);
  b.reserve = std::min(settings.cleanup_reserve, b.total / 2);
  b.settle = std::min(settings.cancel_settle, b.total / 8);
  b.kill_margin = std::min(Duration{1'000}, b.total / 8);
  Duration const half = (b.total - b.reserve - b.settle) / 2;
  b.deregister_timeout = std::min(settings.deregister_timeout, half);
  b.late_accept = std::min(settings.late_accept, half - b.deregister_timeout);
  return b;
}

Budgets budgets_within(ShutdownSettings const& settings, std::optional<Duration> pod_grace,
                       Duration spent) {
  return clamp_to_total(settings, total_within(settings, pod_grace, spent));
}

BudgetPlan derive_budgets(ShutdownSettings const& settings, std::optional<Duration> pod_grace,
                          Duration spent) {
  BudgetPlan plan;
  Duration const wanted = total_within(settings, pod_grace, spent);
  if (wanted != settings.grace_period) {
    plan.warnings.push_back(
        "shutdown.grace_period: " + ms_text(settings.grace_period) + " cut to " + ms_text(wanted) +
        ": the pod grants " + ms_text(*pod_grace) + ", of which " + ms_text(kPodMargin) +
        " are the kubelet's" +
        (spent.count() > 0 ? " and " + ms_text(spent) + " were spent in preStop" : "") +
        "; raise terminationGracePeriodSeconds or lower grace_period");
  }
  plan.budgets = clamp_to_total(settings, wanted);
  Budgets const& b = plan.budgets;
  warn_if_cut(plan.warnings, "cleanup_reserve", settings.cleanup_reserve, b.reserve, b.total);
  warn_if_cut(plan.warnings, "cancel_settle", settings.cancel_settle, b.settle, b.total);
  warn_if_cut(plan.warnings, "deregister_timeout", settings.deregister_timeout,
              b.deregister_timeout, b.total);
  warn_if_cut(plan.warnings, "late_accept", settings.late_accept, b.late_accept, b.total);
  return plan;
}

}  // namespace lastcall::lifecycle
