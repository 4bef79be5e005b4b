#include "core/budget_book.hpp"

#include <algorithm>

namespace lastcall::lifecycle {
namespace {

/// All of the time is for the requests: there is no phase 3 that needs a reserve. The pod stays, so
/// the time for late requests does not depend on the configured `late_accept`. If this is the pod's
/// deletion after all, that becomes known meanwhile.
Budgets restart_budgets(ShutdownSettings settings) {
  settings.cleanup_reserve = Duration{0};
  Budgets budgets = clamp_to_total(settings, kRestartHook);
  budgets.late_accept = kUntilUnready;
  Duration const rest = budgets.total - budgets.settle - budgets.late_accept;
  budgets.deregister_timeout = std::min(budgets.deregister_timeout, rest / 2);
  budgets.shared = budgets.deregister_timeout + budgets.late_accept;
  return budgets;
}

}  // namespace

BudgetBook::BudgetBook(Settings const& settings)
    : settings_(settings),
      pod_grace_(settings.pod_grace),
      drain_(budgets_within(settings.shutdown, settings.pod_grace)),
      restart_(restart_budgets(settings.shutdown)) {}

bool BudgetBook::limit_grace(Duration grace) {
  if (pod_grace_ && *pod_grace_ <= grace) {
    return false;
  }
  pod_grace_ = grace;
  drain_ = budgets_within(settings_.shutdown, pod_grace_);
  return true;
}

bool BudgetBook::expect_acks_or_hooks(bool expected) {
  bool const is_news = acks_or_hooks_ != expected;
  acks_or_hooks_ = expected;
  return is_news;
}

}  // namespace lastcall::lifecycle
