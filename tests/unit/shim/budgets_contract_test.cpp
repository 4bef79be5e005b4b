// The shim links nothing of the supervisor, so its arithmetic is a copy; here both are compared.
#include <gtest/gtest.h>

#include "core/budgets.hpp"
#include "shim/deadline_rules.hpp"

namespace lastcall::shim {
namespace {

/// The budgets of a welcome, which knows the whole grace alone.
Duration told_reserve(lifecycle::ShutdownSettings const& settings) {
  return lifecycle::with_room_for_cleanup(lifecycle::budgets_within(settings, {}), false).reserve;
}

TEST(BudgetsContract, The_shim_never_holds_an_engine_for_longer_than_the_supervisor_drains) {
  for (std::int64_t total = 0; total <= 120'000; total += 7) {
    for (std::int64_t const reserve : {0, 1, 499, 1'999}) {
      lifecycle::ShutdownSettings settings;
      settings.cleanup_reserve = Duration{reserve};
      lifecycle::Budgets const theirs = lifecycle::with_room_for_cleanup(
          lifecycle::clamp_to_total(settings, Duration{total}), false);
      Margins const ours = margins(Duration{total}, told_reserve(settings));
      ASSERT_GE(ours.reserve, theirs.reserve) << total;
    }
  }
}

TEST(BudgetsContract, Every_fixed_point_of_the_shim_is_the_one_of_the_supervisor) {
  for (std::int64_t total = 0; total <= 120'000; total += 7) {
    for (std::int64_t const reserve : {2'000, 3'333, 5'000, 30'000}) {
      lifecycle::ShutdownSettings settings;
      settings.cleanup_reserve = Duration{reserve};
      lifecycle::Budgets const theirs = lifecycle::clamp_to_total(settings, Duration{total});
      Margins const ours = margins(Duration{total}, told_reserve(settings));
      std::int64_t const deadline = 1'000'000 + theirs.total.count();
      Instant const ours_at = instant_from_ms(deadline);
      lifecycle::Instant const theirs_at = lifecycle::instant_from_ms(deadline);
      ASSERT_EQ(ours.total, theirs.total) << total;
      ASSERT_EQ(ours.reserve, theirs.reserve) << total;
      ASSERT_EQ(to_ms(ours.hold_until(ours_at)),
                lifecycle::to_ms(theirs.kill_cancel_at(theirs_at)));
      ASSERT_EQ(to_ms(ours.shim_term_at(ours_at)),
                lifecycle::to_ms(theirs.shim_term_at(theirs_at)));
      ASSERT_EQ(to_ms(ours.engine_kill_at(ours_at)),
                lifecycle::to_ms(theirs.engine_kill_at(theirs_at)));
    }
  }
}

TEST(BudgetsContract, Deadline_without_a_supervisor_is_the_one_that_the_supervisor_would_give) {
  for (std::int64_t pod = 0; pod <= 120'000; pod += 13) {
    lifecycle::BudgetPlan const theirs = lifecycle::derive_budgets({}, Duration{pod});
    StopClock ours(Duration{60'000}, Duration{pod} - lifecycle::kPodMargin);
    ours.begin(instant_from_ms(5'000));
    ASSERT_EQ(to_ms(ours.deadline()),
              lifecycle::to_ms(theirs.budgets.deadline(lifecycle::instant_from_ms(5'000))))
        << pod;
  }
}

}  // namespace
}  // namespace lastcall::shim
