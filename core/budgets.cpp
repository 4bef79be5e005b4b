#include "core/budgets.hpp"

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

/// The longest reserve that can be used.
Duration usable_reserve(Budgets const& b) {
  return kEngineStop + kAcksAndHooksCap + b.disconnects;
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
  b.disconnects = (settings.events ? kDisconnectCap : Duration{0}) +
                  (settings.registries ? kDisconnectCap : Duration{0});
  b.reserve = std::min({settings.cleanup_reserve, b.total / 2, usable_reserve(b)});
  b.settle = std::min(settings.cancel_settle, b.total / 8);
  b.kill_margin = std::min(Duration{1'000}, b.total / 8);
  b.shared = (b.total - b.reserve - b.settle) / 2;
  b.deregister_timeout = std::min(settings.deregister_timeout, b.shared);
  b.late_accept = std::min(settings.late_accept, b.shared);
  return b;
}

Duration cleanup_need(Budgets const& budgets, bool acks_or_hooks) {
  return 2 * budgets.kill_margin +
         (acks_or_hooks ? kAcksAndHooksCap + budgets.disconnects : Duration{0});
}

Budgets with_room_for_cleanup(Budgets budgets, bool acks_or_hooks) {
  Duration const need = std::min(cleanup_need(budgets, acks_or_hooks), budgets.total / 2);
  budgets.reserve = std::max(budgets.reserve, need);
  budgets.shared = (budgets.total - budgets.reserve - budgets.settle) / 2;
  budgets.deregister_timeout = std::min(budgets.deregister_timeout, budgets.shared);
  budgets.late_accept = std::min(budgets.late_accept, budgets.shared);
  return budgets;
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
        ": the pod or container grants " + ms_text(*pod_grace) + ", of which " +
        ms_text(kPodMargin) + " are left to the kubelet or the container engine" +
        (spent.count() > 0 ? " and " + ms_text(spent) + " were spent in preStop" : "") +
        "; raise terminationGracePeriodSeconds (outside of Kubernetes LASTCALL_POD_GRACE_SECONDS "
        "and the stop timeout), or lower grace_period");
  }
  plan.budgets = clamp_to_total(settings, wanted);
  Budgets const& b = plan.budgets;
  warn_if_cut(plan.warnings, "cleanup_reserve",
              std::min(settings.cleanup_reserve, usable_reserve(b)), b.reserve, b.total);
  warn_if_cut(plan.warnings, "cancel_settle", settings.cancel_settle, b.settle, b.total);
  if (settings.registries) {
    warn_if_cut(plan.warnings, "deregister_timeout", settings.deregister_timeout,
                b.deregister_timeout, b.total);
  }
  Duration const least = b.late_accept_after(b.deregister_timeout);
  if (settings.registries && least < b.late_accept) {
    plan.warnings.push_back(
        "shutdown.late_accept: only " + ms_text(least) + " of " + ms_text(settings.late_accept) +
        " are left if deregistration takes all of its " + ms_text(b.deregister_timeout) +
        ": together they get " + ms_text(b.shared));
  } else {
    warn_if_cut(plan.warnings, "late_accept", settings.late_accept, b.late_accept, b.total);
  }
  return plan;
}

}  // namespace lastcall::lifecycle
