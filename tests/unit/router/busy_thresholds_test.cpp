#include "router/busy_thresholds.hpp"

#include <gtest/gtest.h>

namespace lastcall::router {
namespace {

using namespace std::chrono_literals;
using Tokens = Change<std::uint64_t>;

ThresholdRule rule(std::string model, std::uint64_t tokens) {
  ThresholdRule made;
  made.model = std::move(model);
  made.active_prefill_tokens = tokens;
  return made;
}

TEST(BusyThresholds, A_model_has_its_own_row_or_the_one_without_a_name) {
  BusyThresholds thresholds;
  EXPECT_EQ(thresholds.of("m"), lifecycle::LoadThresholds{});
  thresholds.configure({rule("m", 10), rule("", 20)}, 3s);
  EXPECT_EQ(thresholds.of("m").prefill_tokens, 10U);
  EXPECT_EQ(thresholds.of("n").prefill_tokens, 20U);
  EXPECT_EQ(thresholds.of("").prefill_tokens, 20U);
  EXPECT_EQ(thresholds.of("m").max_age, 3s);
}

TEST(BusyThresholds, Set_thresholds_hold_until_a_reload_brings_others_of_that_model) {
  BusyThresholds thresholds;
  thresholds.configure({rule("m", 10)}, 3s);
  thresholds.set({.model = "m", .decode_ppm = {}, .prefill_tokens = {Tokens::Kind::set, 5}});
  thresholds.set({.model = "n", .decode_ppm = {}, .prefill_tokens = {Tokens::Kind::set, 6}});
  EXPECT_EQ(thresholds.of("m").prefill_tokens, 5U);
  EXPECT_EQ(thresholds.row("m").holds_for, BusyThresholds::kReplica);
  thresholds.configure({rule("m", 10)}, 3s);
  EXPECT_EQ(thresholds.of("m").prefill_tokens, 5U);
  thresholds.configure({rule("m", 11)}, 3s);
  EXPECT_EQ(thresholds.of("m").prefill_tokens, 11U);
  EXPECT_EQ(thresholds.row("m").holds_for, BusyThresholds::kAll);
  EXPECT_EQ(thresholds.of("n").prefill_tokens, 6U);
}

TEST(BusyThresholds, Null_clears_of_the_file_too) {
  BusyThresholds thresholds;
  thresholds.configure({rule("m", 10)}, 3s);
  thresholds.set({.model = "m", .decode_ppm = {}, .prefill_tokens = {Tokens::Kind::clear, 0}});
  EXPECT_FALSE(thresholds.of("m").prefill_tokens);
  EXPECT_EQ(thresholds.rows({"m", "n"}).size(), 3U);  // and the one without a name
}

}  // namespace
}  // namespace lastcall::router
