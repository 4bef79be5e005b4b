// Choices with a key beside the same choices computed anew from what is known of each worker, while
// requests, reports, failures, time and workers come and go at random.
#include "router/keyed_workers.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "router/fleet.hpp"

namespace lastcall::router {
namespace {

using namespace std::chrono_literals;
using Shared = std::shared_ptr<Worker>;

std::uint64_t distance(std::uint64_t key, Worker const& worker) {
  std::uint64_t shortest = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t probe = 0; probe < KeyRing::kProbes; ++probe) {
    for (std::size_t point = 0; point < KeyRing::kPoints; ++point) {
      shortest = std::min(shortest,
                          KeyRing::point_of(worker.place(), point) - KeyRing::probe_of(key, probe));
    }
  }
  return shortest;
}

/// The rule itself: fleet.hpp, 2 to 4, and affinity.hpp, 3.
Shared expected(Fleet const& fleet, std::string_view model, std::uint64_t key,
                std::vector<std::uint64_t> const& tried, Time now) {
  std::vector<Shared> free;
  std::vector<Shared> busy;
  Shared soonest;
  for (Shared const& each : fleet.workers()) {
    if (!each->serves(model) || std::find(tried.begin(), tried.end(), each->id()) != tried.end()) {
      continue;
    }
    if (each->skipped_until() <= now) {
      (each->is_busy(now) ? busy : free).push_back(each);
    } else if (!soonest || each->skipped_until() < soonest->skipped_until()) {
      soonest = each;
    }
  }
  std::vector<Shared> const& among = free.empty() ? busy : free;
  std::uint64_t requests = 1;
  for (Shared const& each : among) {
    requests += each->load(now);
  }
  Shared best = among.empty() ? soonest : nullptr;
  for (Shared const& each : among) {
    bool const has_room = each->load(now) < bounded_load(requests, among.size());
    if (has_room && (!best || distance(key, *each) < distance(key, *best))) {
      best = each;
    }
  }
  return best;
}

class Life {
 public:
  explicit Life(std::uint64_t seed) : random_(seed) {
    for (int i = 0; i < 12; ++i) {
      std::string const model = i < 2 ? "" : i < 9 ? "m" : "n";
      all_.push_back({"http://10.0.0." + std::to_string(i) + ":8000", model});
    }
    fleet_.set(0, all_);
  }

  void step() {
    now_ += Time(below(40));
    std::vector<std::uint64_t> tried;
    for (std::uint64_t left = below(4); left > 1; --left) {
      tried.push_back(some()->id());
    }
    std::string_view const model = below(5) == 0 ? "n" : below(9) == 0 ? "unknown" : "m";
    std::uint64_t const key = below(30);
    Shared const wanted = expected(fleet_, model, key, tried, now_);
    Shared const chosen = fleet_.choose({.model = model, .affinity = key}, tried, now_);
    ASSERT_EQ(chosen, wanted);
    // A choice among some of them alone keeps to the same order.
    Fleet::Wanted const fitting{
        .model = model, .affinity = key, .fit = [](Worker const&) { return Fit::yes; }};
    ASSERT_EQ(fleet_.choose(fitting, tried, now_), wanted);
    if (chosen && below(3) > 0) {
      fleet_.began(*chosen);
      live_.push_back(chosen);
    }
    happen();
  }

 private:
  std::uint64_t below(std::uint64_t most) { return random_() % most; }
  Shared const& some() { return fleet_.workers()[below(fleet_.workers().size())]; }

  void happen() {
    switch (below(12)) {
      case 0:
        fleet_.failed(*some(), now_);
        return;
      case 1:
        fleet_.answered(*some());
        return;
      case 2:
        report(*some());
        return;
      case 3:
        fleet_.limit(*some(), {.decode_ppm = 500'000, .max_age = Time(100 + below(400))});
        return;
      case 4:
        come_and_go();
        return;
      default:
        break;
    }
    if (live_.size() > 30 || (below(2) == 0 && !live_.empty())) {
      std::swap(live_[below(live_.size())], live_.back());
      fleet_.ended(*live_.back());  // also one that has left
      live_.pop_back();
    }
  }
  void report(Worker& worker) {
    ReportedLoad load;
    load.requests = below(12);
    load.by_gauges = below(2) == 0;
    if (below(2) == 0) {
      load.ranks.emplace_back().kv_usage = below(2) == 0 ? 0.9 : 0.1;
    }
    fleet_.reported(worker, load, now_);
  }
  void come_and_go() {
    std::vector<Announced> there;
    for (Announced const& each : all_) {
      if (below(4) > 0) {
        there.push_back(each);
      }
    }
    there.push_back(all_.front());
    fleet_.set(0, there);
  }

  std::mt19937_64 random_;
  Fleet fleet_{{100ms, 1s}, [this] { return random_(); }};
  std::vector<Announced> all_;
  std::vector<Shared> live_;
  Time now_ = 1s;
};

TEST(KeyedWorkers, A_choice_is_that_of_the_rule_whatever_happened_before) {
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Life life(seed);
    for (int i = 0; i < 400 && !testing::Test::HasFatalFailure(); ++i) {
      life.step();
    }
  }
}

TEST(KeyedWorkers, A_report_that_has_grown_old_counts_no_more) {
  Fleet fleet({100ms, 1s}, [] { return 0; });
  fleet.set(0, {{"a", "m"}, {"b", "m"}});
  auto const home = [&](Time now) { return fleet.choose({.model = "m", .affinity = 7}, {}, now); };
  Shared const first = home(0ms);
  fleet.limit(*first, {.max_age = 1s});
  ReportedLoad load;
  load.requests = 9;
  fleet.reported(*first, load, 0ms);
  EXPECT_NE(home(1s), first);
  EXPECT_EQ(home(1001ms), first);
}

}  // namespace
}  // namespace lastcall::router
