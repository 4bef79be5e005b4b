#include "core/admission.hpp"

#include <map>
#include <vector>

#include <gtest/gtest.h>

namespace lastcall::lifecycle {
namespace {

constexpr Instant kAdmissionStart = instant_from_ms(1'000'000);

AdmissionLimits limits_of(std::uint32_t running, std::uint32_t waiting) {
  AdmissionLimits limits;
  limits.running = running;
  limits.waiting = waiting;
  return limits;
}

/// Begins and ends requests that take so long, one after the other.
void serve(Admission& admission, Instant& now, Duration service, int times) {
  for (int i = 0; i < times; ++i) {
    auto const ticket = admission.arrive(now, 0);
    now += service;
    admission.leave(now, ticket);
  }
}

TEST(Admission, Without_limits_everybody_runs) {
  Admission admission;
  for (Admission::Owner owner = 0; owner < 1'000; ++owner) {
    EXPECT_FALSE(admission.is_waiting(admission.arrive(kAdmissionStart, owner)));
  }
  EXPECT_EQ(admission.running(), 1'000U);
  EXPECT_EQ(admission.capacity(), std::nullopt);
}

TEST(Admission, A_waiter_that_hangs_up_frees_its_place_at_once) {
  Admission admission(limits_of(1, 1));
  admission.arrive(kAdmissionStart, 1);
  auto const waiter = admission.arrive(kAdmissionStart, 2);
  ASSERT_EQ(admission.judge(), Admission::Answer::refused);
  admission.leave(kAdmissionStart, waiter);
  EXPECT_EQ(admission.judge(), Admission::Answer::queued);
}

TEST(Admission, A_request_that_left_before_the_grant_is_not_granted) {
  Admission admission(limits_of(1, 2));
  auto const first = admission.arrive(kAdmissionStart, 1);
  auto const second = admission.arrive(kAdmissionStart, 2);
  admission.arrive(kAdmissionStart, 3);
  admission.leave(kAdmissionStart, first);
  admission.leave(kAdmissionStart, second);
  auto const granted = admission.grant(kAdmissionStart);
  ASSERT_TRUE(granted);
  EXPECT_EQ(granted->owner, 3U);
  EXPECT_FALSE(admission.grant(kAdmissionStart));
}

TEST(Admission, Work_that_runs_already_takes_its_place_above_the_limit) {
  Admission admission(limits_of(1, 1));
  admission.take(kAdmissionStart, 1, false);
  auto const second = admission.take(kAdmissionStart, 2, false);
  EXPECT_EQ(admission.running(), 2U);
  EXPECT_TRUE(admission.is_waiting(admission.arrive(kAdmissionStart, 3)));
  admission.leave(kAdmissionStart, second);
  EXPECT_FALSE(admission.grant(kAdmissionStart));  // still one at a limit of one
}

TEST(Admission, A_queue_that_shrinks_keeps_its_waiters_and_takes_no_more) {
  Admission admission(limits_of(1, 3));
  auto const running = admission.arrive(kAdmissionStart, 0);
  for (Admission::Owner owner = 1; owner <= 3; ++owner) {
    admission.arrive(kAdmissionStart, owner);
  }
  admission.set_limits(limits_of(1, 1));
  EXPECT_EQ(admission.waiting(), 3U);
  EXPECT_EQ(admission.judge(), Admission::Answer::refused);
  admission.leave(kAdmissionStart, running);
  EXPECT_EQ(admission.grant(kAdmissionStart)->owner, 1U);
  EXPECT_EQ(admission.judge(), Admission::Answer::refused);
}

TEST(Admission, Without_a_limit_any_more_all_waiters_run) {
  Admission admission(limits_of(1, 3));
  for (Admission::Owner owner = 0; owner < 4; ++owner) {
    admission.arrive(kAdmissionStart, owner);
  }
  admission.set_limits({});
  for (Admission::Owner owner = 1; owner < 4; ++owner) {
    EXPECT_EQ(admission.grant(kAdmissionStart)->owner, owner);
  }
}

TEST(Admission, Urgent_waiters_go_first_only_where_priorities_are_on) {
  for (bool const on : {false, true}) {
    AdmissionLimits limits = limits_of(1, 3);
    limits.priorities = on;
    Admission admission(limits);
    auto const running = admission.arrive(kAdmissionStart, 0);
    admission.arrive(kAdmissionStart, 1);
    admission.arrive(kAdmissionStart, 2, 0);
    admission.leave(kAdmissionStart, running);
    EXPECT_EQ(admission.grant(kAdmissionStart)->owner, on ? 2U : 1U);
  }
}

TEST(Admission, An_unlikely_priority_counts_as_the_least_urgent) {
  AdmissionLimits limits = limits_of(1, 3);
  limits.priorities = true;
  Admission admission(limits);
  auto const running = admission.arrive(kAdmissionStart, 0);
  admission.arrive(kAdmissionStart, 1, 255);
  admission.arrive(kAdmissionStart, 2);
  admission.leave(kAdmissionStart, running);
  EXPECT_EQ(admission.grant(kAdmissionStart)->owner, 2U);
}

TEST(Admission, The_time_limit_of_a_wait_holds_from_its_arrival) {
  AdmissionLimits limits = limits_of(1, 3);
  limits.wait_timeout = Duration{100};
  Admission admission(limits);
  admission.arrive(kAdmissionStart, 0);
  EXPECT_FALSE(admission.next_deadline());
  admission.arrive(kAdmissionStart + Duration{10}, 1);
  EXPECT_EQ(admission.next_deadline(), kAdmissionStart + Duration{110});
  EXPECT_FALSE(admission.expired(kAdmissionStart + Duration{109}));
  EXPECT_EQ(admission.expired(kAdmissionStart + Duration{110}), 1U);
  EXPECT_FALSE(admission.expired(kAdmissionStart + Duration{110}));
  EXPECT_EQ(admission.waiting(), 0U);
}

TEST(Admission, A_limit_on_first_bytes_holds_though_places_are_free) {
  AdmissionLimits limits = limits_of(4, 4);
  limits.first_byte = 1;
  Admission admission(limits);
  auto const first = admission.arrive(kAdmissionStart, 0);
  EXPECT_TRUE(admission.is_waiting(admission.arrive(kAdmissionStart, 1)));
  EXPECT_EQ(admission.first_byte(kAdmissionStart + Duration{30}, first), Duration{30});
  EXPECT_FALSE(admission.first_byte(kAdmissionStart + Duration{40}, first))
      << "it is not the first";
  EXPECT_EQ(admission.without_first_byte(), 0U);
  EXPECT_EQ(admission.grant(kAdmissionStart)->owner, 1U);
  EXPECT_FALSE(admission.grant(kAdmissionStart));
}

// --- retry after ---------------------------------------------------------------------------------

TEST(AdmissionRetry, Without_samples_it_is_the_default) {
  Admission admission(limits_of(1, 0));
  EXPECT_EQ(admission.retry_after(), kRetryDefault);
  auto const resumed = admission.take(kAdmissionStart, 0, false);
  admission.leave(kAdmissionStart + Duration{9'000}, resumed);  // it is not known since when it ran
  EXPECT_EQ(admission.retry_after(), kRetryDefault);
}

TEST(AdmissionRetry, Is_the_mean_service_by_the_number_of_places) {
  Admission admission(limits_of(4, 0));
  Instant now = kAdmissionStart;
  serve(admission, now, Duration{2'000}, 1);
  EXPECT_EQ(admission.retry_after(), Duration{500});
}

TEST(AdmissionRetry, Rises_with_the_queue_and_falls_with_the_places) {
  Admission admission(limits_of(2, 100));
  Instant now = kAdmissionStart;
  serve(admission, now, Duration{1'000}, 3);
  Duration last = admission.retry_after();
  for (Admission::Owner owner = 0; owner < 20; ++owner) {
    admission.arrive(now, owner);
    EXPECT_GE(admission.retry_after(), last);
    last = admission.retry_after();
  }
  EXPECT_EQ(last, Duration{9'500});  // 18 wait: the next is the 19th, by two places
  for (std::uint32_t running = 3; running < 50; ++running) {
    admission.set_limits(limits_of(running, 100));
    EXPECT_LE(admission.retry_after(), last);
    last = admission.retry_after();
  }
}

TEST(AdmissionRetry, Rises_and_falls_with_the_service_and_stays_within_its_bounds) {
  Admission admission(limits_of(1, 0));
  Instant now = kAdmissionStart;
  serve(admission, now, Duration{0}, 5);
  EXPECT_EQ(admission.retry_after(), kRetryLeast);
  serve(admission, now, Duration{800}, 100);
  EXPECT_NEAR(static_cast<double>(admission.retry_after().count()), 800, 2);
  serve(admission, now, Duration{10'000'000}, 100);
  EXPECT_EQ(admission.retry_after(), kRetryMost);
  serve(admission, now, Duration{1}, 300);
  EXPECT_EQ(admission.retry_after(), kRetryLeast);
}

TEST(AdmissionRetry, Each_refusal_takes_the_next_slot) {
  Admission admission(limits_of(4, 0));
  Instant now = kAdmissionStart;
  serve(admission, now, Duration{2'000}, 1);
  std::vector<std::int64_t> reported;
  for (int i = 0; i < 5; ++i) {
    reported.push_back(to_ms(admission.take_retry_slot(now)));
  }
  EXPECT_EQ(reported, (std::vector<std::int64_t>{500, 1'000, 1'500, 2'000, 2'500}));
  now += Duration{1'000};
  EXPECT_EQ(admission.take_retry_slot(now), Duration{2'000}) << "behind those that still wait";
  now += Duration{60'000};
  EXPECT_EQ(admission.take_retry_slot(now), Duration{500}) << "they have all come back";
}

TEST(AdmissionRetry, Slots_begin_again_within_the_minute) {
  Admission admission(limits_of(2, 0));
  Instant const now = kAdmissionStart;
  std::map<Duration, int> reported;  // nothing measured: a second by two places
  for (int i = 0; i < 1'000; ++i) {
    ++reported[admission.take_retry_slot(now)];
  }
  EXPECT_EQ(reported.begin()->first, Duration{1'000});
  EXPECT_EQ(reported.rbegin()->first, kRetryMost);
  EXPECT_EQ(reported.size(), 119U);
  for (auto const& [retry, count] : reported) {
    EXPECT_LE(count, 9) << to_ms(retry);
  }
}

TEST(AdmissionRetry, Slots_of_many_fast_places_are_finer_than_a_millisecond) {
  Admission admission(limits_of(1'000, 0));
  Instant now = kAdmissionStart;
  serve(admission, now, Duration{200}, 1);
  Duration last{};
  for (int i = 0; i < 500; ++i) {
    last = admission.take_retry_slot(now);
  }
  EXPECT_GE(last, Duration{190}) << "a fifth of a millisecond each, behind the least";
  EXPECT_LE(last, Duration{201});
}

}  // namespace
}  // namespace lastcall::lifecycle
