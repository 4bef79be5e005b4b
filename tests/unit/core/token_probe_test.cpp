#include "core/token_probe.hpp"

#include <gtest/gtest.h>

namespace lastcall::lifecycle {
namespace {

using namespace std::chrono_literals;

constexpr Instant kTokenStart = instant_from_ms(1'000'000);
constexpr TokenProbe::Facts kIdle{.engine_takes = true, .is_idle = true};
constexpr TokenProbe::Facts kDrained{.engine_takes = true, .drains = true, .shows_zero = true};

struct Probe {
  TokenProbe probe{TokenSettings{.barrier = true, .canary = true}};

  std::optional<AskToken> at(Duration when, TokenProbe::Facts const& facts) {
    probe.observe(kTokenStart + when, facts);
    return probe.next(kTokenStart + when, facts);
  }
};

TEST(TokenProbe, A_canary_is_due_ten_seconds_after_the_last_work) {
  Probe p;
  EXPECT_FALSE(p.at(0s, kIdle));
  EXPECT_EQ(p.probe.next_deadline(kIdle), kTokenStart + 10s);
  EXPECT_FALSE(p.at(9s, {.engine_takes = true}));  // work
  EXPECT_EQ(p.probe.next_deadline(kIdle), std::nullopt);
  EXPECT_FALSE(p.at(12s, kIdle));
  EXPECT_FALSE(p.at(21'999ms, kIdle));
  auto const ask = p.at(22s, kIdle);
  ASSERT_TRUE(ask);
  EXPECT_EQ(ask->use, TokenUse::canary);
  EXPECT_TRUE(ask->looks_first) << "nobody counts";
}

TEST(TokenProbe, Canaries_are_thirty_seconds_apart_and_progress_postpones_them) {
  Probe p;
  p.at(0s, kIdle);
  ASSERT_TRUE(p.at(10s, kIdle));
  EXPECT_TRUE(p.probe.is_canary(1));
  EXPECT_EQ(p.probe.answered({1, TokenOutcome::generated}), TokenUse::canary);
  EXPECT_EQ(p.probe.next_deadline(kIdle), kTokenStart + 40s);
  p.probe.progressed(kTokenStart + 35s);
  EXPECT_EQ(p.probe.next_deadline(kIdle), kTokenStart + 45s);
}

TEST(TokenProbe, Nothing_is_sent_to_an_engine_that_does_not_take_it) {
  Probe p;
  TokenProbe::Facts loading = kIdle;
  loading.engine_takes = false;
  EXPECT_FALSE(p.at(0s, loading));
  EXPECT_FALSE(p.at(60s, loading));
  loading = kDrained;
  loading.engine_takes = false;
  EXPECT_FALSE(p.at(61s, loading));
}

TEST(TokenProbe, A_barrier_is_sent_once_and_again_after_work) {
  Probe p;
  auto const ask = p.at(0s, kDrained);
  ASSERT_TRUE(ask);
  EXPECT_EQ(ask->use, TokenUse::barrier);
  EXPECT_FALSE(p.at(1s, kDrained)) << "one is out";
  EXPECT_EQ(p.probe.answered({ask->number, TokenOutcome::generated}), TokenUse::barrier);
  EXPECT_TRUE(p.probe.has_passed());
  EXPECT_FALSE(p.at(2s, kDrained));
  p.probe.work_seen();
  EXPECT_FALSE(p.probe.has_passed());
  EXPECT_TRUE(p.at(3s, kDrained));
}

TEST(TokenProbe, A_refusal_proves_nothing_and_is_not_asked_again) {
  Probe p;
  p.at(0s, kDrained);
  EXPECT_EQ(p.probe.answered({1, TokenOutcome::refused}), TokenUse::barrier);
  EXPECT_FALSE(p.probe.has_passed());
  EXPECT_FALSE(p.at(5s, kDrained));
}

TEST(TokenProbe, An_answer_to_what_is_not_out_is_none) {
  Probe p;
  EXPECT_FALSE(p.probe.answered({0, TokenOutcome::generated}));
  p.at(0s, kDrained);
  EXPECT_FALSE(p.probe.answered({2, TokenOutcome::generated}));
  EXPECT_TRUE(p.probe.withdraws({}));
  EXPECT_FALSE(p.probe.withdraws({})) << "once";
  EXPECT_FALSE(p.probe.answered({1, TokenOutcome::generated})) << "withdrawn";
}

TEST(TokenProbe, A_drain_waits_for_the_canary_and_withdraws_only_a_barrier_that_it_needs_no_more) {
  Probe p;
  p.at(0s, kIdle);
  ASSERT_TRUE(p.at(10s, kIdle));
  EXPECT_FALSE(p.at(11s, kDrained));
  EXPECT_FALSE(p.probe.withdraws(kDrained));
  p.probe.answered({1, TokenOutcome::refused});
  ASSERT_TRUE(p.at(12s, kDrained));
  EXPECT_TRUE(p.probe.withdraws({.engine_takes = true})) << "resumed";
}

}  // namespace
}  // namespace lastcall::lifecycle
