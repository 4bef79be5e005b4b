#include "router/fleet.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "router/source_conflicts.hpp"

namespace lastcall::router {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

/// Draws 0, 1, 2, ...: each worker is the first of the two in turn.
Fleet make(Fleet::Skips skips = {100ms, 1s}) {
  return Fleet(skips, [next = std::uint64_t{0}]() mutable { return next++; });
}

Announced worker(std::string url, std::string model = "m") {
  return {std::move(url), std::move(model)};
}

TEST(Fleet, The_less_busy_of_two_is_chosen) {
  Fleet fleet = make();
  Fleet::News const news = fleet.set(0, {worker("a"), worker("b")});
  ASSERT_EQ(news.came.size(), 2U);
  fleet.began(*news.came[0]);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(fleet.choose("m", {}, 0ms)->url(), "b");
  }
  fleet.began(*news.came[1]);
  fleet.began(*news.came[1]);
  EXPECT_EQ(fleet.choose("m", {}, 0ms)->url(), "a");
}

TEST(Fleet, A_worker_serves_its_model_or_any) {
  Fleet fleet = make();
  fleet.set(0, {worker("a", "x"), worker("b", "y")});
  EXPECT_EQ(fleet.choose("y", {}, 0ms)->url(), "b");
  EXPECT_EQ(fleet.choose("z", {}, 0ms), nullptr);
  EXPECT_FALSE(fleet.knows("z"));
  EXPECT_THAT(fleet.models(), ElementsAre("x", "y"));
  fleet.set(1, {worker("c", "")});
  EXPECT_EQ(fleet.choose("z", {}, 0ms)->url(), "c");
  EXPECT_TRUE(fleet.knows("z"));
  EXPECT_FALSE(fleet.announces("z"));
  EXPECT_TRUE(fleet.announces("x"));
}

TEST(Fleet, A_worker_that_was_tried_is_not_chosen_again) {
  Fleet fleet = make();
  Fleet::News const news = fleet.set(0, {worker("a"), worker("b")});
  std::vector<std::uint64_t> tried{news.came[0]->id()};
  EXPECT_EQ(fleet.choose("m", tried, 0ms)->url(), "b");
  tried.push_back(news.came[1]->id());
  EXPECT_EQ(fleet.choose("m", tried, 0ms), nullptr);
}

TEST(Fleet, Answers_that_wait_take_turns_at_a_worker_that_has_failed) {
  Fleet fleet = make({1s, 1s});
  Fleet::Wanted const waiting{
      .model = "m", .fit = [](Worker const&) { return Fit::best; }, .waits = true};
  Worker& bad = *fleet.set(0, {worker("a")}).came[0];
  bad.note_trial(1'000ms);
  EXPECT_NE(fleet.choose(waiting, {}, 1'000ms), nullptr) << "it has not failed";
  fleet.failed(bad, 1'001ms);
  EXPECT_EQ(fleet.choose(waiting, {}, 1'099ms), nullptr);
  EXPECT_NE(fleet.choose("m", {}, 1'099ms), nullptr) << "a new request does not wait";
  EXPECT_NE(fleet.choose(waiting, {}, 1'100ms), nullptr) << "although it is skipped";
  bad.note_trial(1'100ms);
  EXPECT_EQ(fleet.choose(waiting, {}, 1'199ms), nullptr);
  fleet.answered(bad);
  EXPECT_NE(fleet.choose(waiting, {}, 1'101ms), nullptr);
}

TEST(Fleet, The_free_worker_that_fits_best_is_chosen) {
  Fleet fleet = make();
  Fleet::News const news = fleet.set(0, {worker("a"), worker("b"), worker("c"), worker("d")});
  std::map<std::string, Fit> fits{
      {"a", Fit::perhaps}, {"b", Fit::best}, {"c", Fit::yes}, {"d", Fit::no}};
  Fleet::Wanted const wanted{.model = "m",
                             .fit = [&fits](Worker const& one) { return fits[one.url()]; }};
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(fleet.choose(wanted, {}, 0ms)->url(), "b");
  }
  fleet.failed(*news.came[1], 0ms);
  EXPECT_EQ(fleet.choose(wanted, {}, 0ms)->url(), "c") << "a worker that is skipped fits nothing";
  fleet.failed(*news.came[2], 0ms);
  EXPECT_EQ(fleet.choose(wanted, {}, 0ms)->url(), "a");
  fits = {{"d", Fit::no}};
  EXPECT_EQ(fleet.choose(wanted, {}, 0ms), nullptr);
}

TEST(Fleet, The_form_that_a_worker_takes_is_its_own) {
  Fleet fleet = make();
  std::shared_ptr<Worker> const one = fleet.set(0, {worker("a")}).came[0];
  EXPECT_EQ(one->found(continuation::Endpoint::chat), std::nullopt);
  fleet.found(*one, continuation::Endpoint::chat, continuation::Mode::ids_vllm);
  EXPECT_EQ(one->found(continuation::Endpoint::chat), continuation::Mode::ids_vllm);
  EXPECT_EQ(one->found(continuation::Endpoint::completions), std::nullopt);
}

TEST(Fleet, Failures_skip_for_longer_and_longer) {
  Fleet fleet = make({100ms, 300ms});
  Worker& bad = *fleet.set(0, {worker("a"), worker("b")}).came[0];
  fleet.failed(bad, 0ms);
  EXPECT_EQ(bad.skipped_until(), 100ms);
  EXPECT_EQ(fleet.choose("m", {}, 99ms)->url(), "b");
  fleet.failed(bad, 50ms);  // the same piece of news
  EXPECT_EQ(bad.skipped_until(), 100ms);
  fleet.failed(bad, 100ms);
  EXPECT_EQ(bad.skipped_until(), 300ms);
  fleet.failed(bad, 300ms);
  EXPECT_EQ(bad.skipped_until(), 600ms);  // no more than the most
  fleet.answered(bad);
  EXPECT_EQ(bad.skipped_until(), 0ms);
  fleet.failed(bad, 700ms);
  EXPECT_EQ(bad.skipped_until(), 800ms);
}

TEST(Fleet, Many_alike_are_chosen_without_a_look_at_all) {
  Fleet fleet = make({1s, 1s});
  std::vector<Announced> all{worker("other", "y")};
  for (char each = 'a'; each <= 'z'; ++each) {
    all.push_back(worker(std::string(1, each)));
  }
  fleet.set(0, all);
  std::set<std::string> chosen;
  std::vector<std::uint64_t> tried;
  for (int i = 0; i < 1000; ++i) {
    chosen.insert(fleet.choose("m", tried, 0ms)->url());
  }
  EXPECT_EQ(chosen.size(), 13U) << "each second one: a choice draws two, one after the other";
  EXPECT_FALSE(chosen.contains("other"));
  // All but two would not do, each for a reason of its own.
  for (auto const& one : fleet.workers()) {
    if (one->url() > "c" && one->url() < "n") {
      tried.push_back(one->id());
    } else if (one->url() >= "n" && one->model() == "m") {
      fleet.failed(*one, 0ms);
    } else if (one->url() == "a") {
      fleet.began(*one);
    } else if (one->url() == "c") {
      tried.push_back(one->id());
    }
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(fleet.choose("m", tried, 0ms)->url(), "b");
  }
  EXPECT_EQ(fleet.choose("none", {}, 0ms), nullptr);
}

TEST(Fleet, Where_all_are_skipped_the_soonest_is_asked) {
  Fleet fleet = make();
  Fleet::News const news = fleet.set(0, {worker("a"), worker("b")});
  fleet.failed(*news.came[1], 0ms);
  fleet.failed(*news.came[0], 10ms);
  EXPECT_EQ(fleet.choose("m", {}, 20ms)->url(), "b");
}

TEST(Fleet, Sources_are_added_up_and_speak_for_themselves_alone) {
  Fleet fleet = make();
  fleet.set(0, {worker("a"), worker("b")});
  Fleet::News news = fleet.set(1, {worker("b"), worker("c")});
  EXPECT_EQ(news.came.size(), 1U);
  news = fleet.set(0, {});
  ASSERT_EQ(news.left.size(), 1U);
  EXPECT_EQ(news.left[0]->url(), "a");
  EXPECT_TRUE(news.left[0]->has_left());
  EXPECT_THAT(fleet.set(1, {worker("c"), worker("b")}).came, IsEmpty());
  news = fleet.set(1, {worker("b", "other")});
  EXPECT_EQ(news.left.size(), 2U);
  ASSERT_EQ(news.came.size(), 1U);
  EXPECT_EQ(news.came[0]->model(), "other");
}

TEST(Fleet, A_source_that_names_another_model_than_the_first_one_is_a_conflict) {
  Fleet fleet = make();
  EXPECT_THAT(fleet.set(3, {worker("a", "x"), worker("b", "x")}).conflicts, IsEmpty());
  EXPECT_THAT(fleet.set(7, {worker("b", "x")}).conflicts, IsEmpty());
  ModelConflict const of_b{"b", 3, "x", 7, "y"};
  EXPECT_THAT(fleet.set(7, {worker("b", "y"), worker("c", "y")}).conflicts, ElementsAre(of_b));
  EXPECT_THAT(fleet.set(8, {worker("d", "y")}).conflicts, ElementsAre(of_b));
  EXPECT_THAT(fleet.set(3, {worker("a", "x")}).conflicts, IsEmpty());
  EXPECT_EQ(fleet.choose("y", {}, 0ms)->model(), "y");
}

TEST(SourceConflicts, Each_conflict_is_new_once_and_one_is_reported_at_a_time) {
  SourceConflicts conflicts;
  ModelConflict const one{"a", 1, "x", 2, "y"};
  ModelConflict const other{"b", 1, "x", 2, "y"};
  EXPECT_EQ(conflicts.note({one}), one);
  EXPECT_EQ(conflicts.note({one}), std::nullopt);
  EXPECT_EQ(conflicts.note({one, other}), other);
  EXPECT_EQ(conflicts.note({other}), std::nullopt);
  EXPECT_EQ(conflicts.note({one, other}), one);
  EXPECT_EQ(conflicts.count(), 2U);
  EXPECT_EQ(conflicts.note({}), std::nullopt);
  EXPECT_EQ(conflicts.note({other, one}), one);
}

TEST(SourceConflicts, Conflicts_that_come_and_go_do_not_fill_the_log) {
  SourceConflicts conflicts;
  std::size_t reports = 0;
  for (int i = 0; i < 100; ++i) {
    reports += conflicts.note({{"a", 1, "x", 2, "y" + std::to_string(i)}}) ? 1 : 0;
  }
  EXPECT_EQ(reports, SourceConflicts::kMostReports);
  conflicts.note({});
  EXPECT_TRUE(conflicts.note({{"a", 1, "x", 2, "z"}}));
}

ReportedLoad blocks(std::initializer_list<std::uint64_t> of_a_hundred) {
  ReportedLoad load;
  for (std::uint64_t const used : of_a_hundred) {
    RankLoad rank;
    rank.rank = static_cast<std::uint32_t>(load.ranks.size());
    rank.active_decode_blocks = used;
    rank.kv_total_blocks = 100;
    load.ranks.push_back(rank);
  }
  return load;
}

lifecycle::LoadThresholds const kBusy{.decode_ppm = 850'000, .max_age = 1s};

TEST(Fleet, Requests_of_others_count_while_their_report_is_recent) {
  Fleet fleet = make();
  auto const came = fleet.set(0, {worker("a"), worker("b")}).came;
  fleet.limit(*came[0], kBusy);
  ReportedLoad load;
  load.requests = 4;
  fleet.began(*came[0]);
  fleet.reported(*came[0], load, 0ms);
  EXPECT_EQ(came[0]->load(1s), 4U);  // one is ours
  fleet.began(*came[0]);
  EXPECT_EQ(came[0]->load(1s), 5U);
  for (int i = 0; i < 3; ++i) {
    fleet.began(*came[1]);
  }
  EXPECT_EQ(fleet.choose("m", {}, 1s)->url(), "b");
  EXPECT_EQ(fleet.choose("m", {}, 1001ms)->url(), "a");
}

TEST(Fleet, A_worker_is_busy_where_all_its_ranks_are) {
  Fleet fleet = make();
  auto const came = fleet.set(0, {worker("a"), worker("b"), worker("c", "n")}).came;
  for (auto const& each : came) {
    fleet.limit(*each, kBusy);
  }
  fleet.reported(*came[0], blocks({86, 99}), 0ms);
  fleet.reported(*came[1], blocks({86, 85}), 0ms);
  EXPECT_TRUE(came[0]->is_busy(1s));
  EXPECT_FALSE(came[1]->is_busy(1s));
  EXPECT_FALSE(fleet.busy("m", 1s));
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(fleet.choose("m", {}, 1s)->url(), "b");
  }
  // Only busy ones are left to be asked.
  std::uint64_t const tried = came[1]->id();
  EXPECT_EQ(fleet.choose("m", {&tried, 1}, 1s)->url(), "a");
  fleet.reported(*came[1], blocks({86}), 500ms);
  ASSERT_TRUE(fleet.busy("m", 1s));
  EXPECT_EQ(fleet.busy("m", 1s)->value, 860'000U);
  EXPECT_FALSE(fleet.busy("n", 1s));
  EXPECT_FALSE(fleet.busy("m", 1001ms));  // the first has been silent for too long
}

TEST(Fleet, Gauges_alone_make_a_worker_busy_only_while_it_has_a_request_of_ours) {
  Fleet fleet = make();
  auto const came = fleet.set(0, {worker("a")}).came;
  fleet.limit(*came[0], kBusy);
  ReportedLoad load;
  load.by_gauges = true;
  load.ranks.emplace_back().kv_usage = 0.9;
  fleet.reported(*came[0], load, 0ms);
  EXPECT_FALSE(came[0]->is_busy(0ms));
  fleet.began(*came[0]);
  EXPECT_TRUE(came[0]->is_busy(0ms));
  fleet.limit(*came[0], {});
  EXPECT_FALSE(came[0]->is_busy(0ms));
}

}  // namespace
}  // namespace lastcall::router
