#include "core/remembered.hpp"

#include <random>

#include <gtest/gtest.h>

namespace lastcall::lifecycle {
namespace {

Remembered a_stop() {
  Remembered r;
  r.progress.phase = Phase::draining;
  r.progress.phase_began = instant_from_ms(5'000);
  r.progress.stop = ShutdownCoordinator::Stop{.cause = {CauseKind::signal, "TERM"},
                                              .mode = StopMode::graceful,
                                              .cause_at = instant_from_ms(4'000),
                                              .deadline = instant_from_ms(64'000),
                                              .in_starting = false};
  r.progress.drain_limit = instant_from_ms(30'000);
  r.cleanup_step = 2;
  r.sdk_peers = 3;
  r.died_with_work = true;
  r.outcomes = {1, 2, 3, 4, 5, 6};
  return r;
}

TEST(Remembered, Comes_back_as_it_was) {
  Remembered const r = a_stop();
  auto const back = decode_remembered(encode(r));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->progress.phase, r.progress.phase);
  EXPECT_EQ(back->progress.phase_began, r.progress.phase_began);
  EXPECT_EQ(back->progress.drain_limit, r.progress.drain_limit);
  ASSERT_TRUE(back->progress.stop);
  EXPECT_EQ(back->progress.stop->cause.kind, CauseKind::signal);
  EXPECT_EQ(back->progress.stop->cause.detail, "TERM");
  EXPECT_EQ(back->progress.stop->cause_at, r.progress.stop->cause_at);
  EXPECT_EQ(back->progress.stop->deadline, r.progress.stop->deadline);
  EXPECT_EQ(back->cleanup_step, 2U);
  EXPECT_EQ(back->sdk_peers, 3U);
  EXPECT_TRUE(back->died_with_work);
  EXPECT_EQ(back->outcomes, r.outcomes);
}

TEST(Remembered, Keeps_how_much_was_in_flight) {
  Remembered r = a_stop();
  auto back = decode_remembered(encode(r));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->in_flight, 0U);
  EXPECT_EQ(back->unseen, std::nullopt);
  r.in_flight = 5;
  r.relaying = 4;
  r.unseen = 0;
  back = decode_remembered(encode(r));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->in_flight, 5U);
  EXPECT_EQ(back->relaying, 4U);
  EXPECT_EQ(back->unseen, std::optional<std::uint64_t>(0));
}

TEST(Remembered, Of_a_drain_has_no_stop) {
  Remembered r;
  r.progress.phase = Phase::drained;
  auto const back = decode_remembered(encode(r));
  ASSERT_TRUE(back);
  EXPECT_FALSE(back->progress.stop);
  EXPECT_FALSE(back->progress.drain_limit);
}

TEST(Remembered, Keeps_what_bounds_a_preStop_call) {
  Remembered r;
  r.progress.phase = Phase::draining;
  r.progress.hook = {.called_at = instant_from_ms(1'000), .deletion = true, .grace = {}};
  auto back = decode_remembered(encode(r));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->progress.hook, r.progress.hook);
  r.progress.hook->grace = Duration{10'000};
  back = decode_remembered(encode(r));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->progress.hook, r.progress.hook);
}

TEST(Remembered, Keeps_any_detail_in_one_line_and_within_1_KiB) {
  Remembered r = a_stop();
  for (int byte = 0; byte < 256; ++byte) {
    r.progress.stop->cause.detail = std::string(5'000, static_cast<char>(byte));
    r.outcomes.fill(~std::uint64_t{0});
    r.in_flight = r.relaying = std::uint32_t{0} - 1;
    r.unseen = r.in_flight;
    std::string const blob = encode(r);
    ASSERT_LE(blob.size(), 1024U) << "detail of byte " << byte;
    ASSERT_EQ(blob.find('\n'), std::string::npos);
    auto const back = decode_remembered(blob);
    ASSERT_TRUE(back);
    std::string const& detail = back->progress.stop->cause.detail;
    ASSERT_FALSE(detail.empty());
    ASSERT_EQ(detail, std::string(detail.size(), static_cast<char>(byte)));
  }
}

TEST(Remembered, Ignores_words_that_a_newer_version_knows) {
  auto const back = decode_remembered(encode(a_stop()) + " colour=blue future");
  ASSERT_TRUE(back);
  EXPECT_EQ(back->sdk_peers, 3U);
}

TEST(Remembered, Refuses_what_is_not_ours) {
  for (char const* const blob :
       {"", "lastcall", "something else", "lastcall1", "lastcall1 phase=", "lastcall1 phase=nap",
        "lastcall1 phase=cleaning_up", "lastcall1 phase=exited cause=signal",
        "lastcall1 phase=cleaning_up cause=nobody cause_at=1 deadline=2",
        "lastcall1 phase=cleaning_up cause=signal cause_at=x deadline=2"}) {
    EXPECT_FALSE(decode_remembered(blob)) << blob;
  }
}

TEST(Remembered, Survives_any_damage_without_harm) {
  std::mt19937 random(7);  // NOLINT: the same damage each time
  std::string const blob = encode(a_stop());
  for (int i = 0; i < 50'000; ++i) {
    std::string damaged = blob;
    for (int hits = 0; hits < 1 + i % 4; ++hits) {
      auto const at = random() % damaged.size();
      damaged[at] = static_cast<char>(random());
    }
    damaged.resize(random() % (damaged.size() + 1));
    auto const back = decode_remembered(damaged);  // the sanitizers are the judges
    if (back && back->progress.phase >= Phase::cleaning_up) {
      ASSERT_TRUE(back->progress.stop) << damaged;
    }
  }
}

}  // namespace
}  // namespace lastcall::lifecycle
