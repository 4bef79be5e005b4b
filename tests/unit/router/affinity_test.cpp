// The key, its order of workers, and a fleet in virtual time under requests with keys.
#include "router/affinity.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "router/fleet.hpp"

namespace lastcall::router {
namespace {

using namespace std::chrono_literals;

TEST(Affinity, The_key_depends_on_the_beginning_of_the_prompt_alone) {
  std::string const begin = R"({"model":"m","messages":[{"role":"system","content":"You help."})";
  auto const key = [&](std::string const& end, std::size_t most) {
    return prefix_key(begin + end, most);
  };
  std::string const one = R"(,{"role":"user","content":"a"}],"temperature":0})";
  std::string const other = R"(,{"role":"user","content":"b"}],"stream":true})";
  ASSERT_TRUE(key(one, 40));
  EXPECT_EQ(key(one, 40), key(other, 40));
  EXPECT_NE(key(one, 400), key(other, 400));
  EXPECT_NE(prefix_key(R"({"prompt":"ab"})", 9), prefix_key(R"({"prompt":"ac"})", 9));
  EXPECT_EQ(prefix_key(R"({"prompt":"ab"})", 1), prefix_key(R"({"prompt":"ac"})", 1));
  EXPECT_NE(prefix_key(R"({"system":"x","messages":[1]})", 9),
            prefix_key(R"({"system":"y","messages":[1]})", 9));
  EXPECT_TRUE(prefix_key(R"({"prompt":[1,2]})", 9));
  for (char const* none :
       {"", "{}", "[]", R"({"model":"m"})", R"({"prompt":""})", R"({"prompt")"}) {
    EXPECT_FALSE(prefix_key(none, 9)) << none;
  }
}

TEST(Affinity, All_replicas_make_the_same_key) {
  EXPECT_EQ(stable_hash(""), 0xcbf29ce484222325U);
  EXPECT_EQ(stable_hash("a"), 0xaf63dc4c8601ec8cU);  // FNV-1a's own test vector
}

TEST(Affinity, Nobody_has_more_than_a_quarter_above_its_share) {
  EXPECT_EQ(bounded_load(1, 1), 2U);
  EXPECT_EQ(bounded_load(1, 10), 1U);
  EXPECT_EQ(bounded_load(80, 10), 10U);
  EXPECT_EQ(bounded_load(81, 10), 11U);
}

/// A fleet, and requests of keys whose popularity is Zipf's.
class Traffic {
 public:
  explicit Traffic(std::size_t workers) : fleet_({100ms, 1s}, [this] { return random_(); }) {
    for (std::size_t i = 0; i < workers; ++i) {
      named_.push_back({"http://10.0.0." + std::to_string(i) + ":8000", "m"});
    }
    fleet_.set(0, named_);
    double sum = 0;
    for (std::size_t key = 1; key <= kKeys; ++key) {
      sum += 1.0 / static_cast<double>(key);
      popularity_.push_back(sum);
    }
  }

  void without(std::size_t worker) {
    std::vector<Announced> left = named_;
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(worker));
    fleet_.set(0, left);
  }
  void all() { fleet_.set(0, named_); }

  /// The worker of a key when no other requests are in its way.
  std::string home(std::size_t key) const {
    return fleet_.choose({.model = "m", .affinity = hash_of(key)}, {}, 0ms)->url();
  }

  /// One request comes; the oldest ends where there are `most`.
  void step(std::size_t most) {
    if (live_.size() == most) {
      fleet_.ended(*live_.front());
      live_.pop_front();
    }
    std::uniform_real_distribution<double> draw(0, popularity_.back());
    auto const key = static_cast<std::size_t>(
        std::lower_bound(popularity_.begin(), popularity_.end(), draw(random_)) -
        popularity_.begin());
    std::shared_ptr<Worker> const worker =
        fleet_.choose({.model = "m", .affinity = hash_of(key)}, {}, 0ms);
    std::size_t on_those_there = 0;
    for (auto const& each : fleet_.workers()) {
      on_those_there += each->in_flight();
    }
    fleet_.began(*worker);
    live_.push_back(worker);
    EXPECT_LE(worker->in_flight(), bounded_load(on_those_there + 1, fleet_.workers().size()));
    ++asked_[key][worker->url()];
    ++requests_;
  }
  void forget() {
    asked_.clear();
    requests_ = 0;
  }
  /// The share of all requests that went where most of their key's did.
  double sticking() const {
    std::size_t stuck = 0;
    for (auto const& [key, workers] : asked_) {
      std::size_t most = 0;
      for (auto const& [url, number] : workers) {
        most = std::max(most, number);
      }
      stuck += most;
    }
    return static_cast<double>(stuck) / static_cast<double>(requests_);
  }

  static constexpr std::size_t kKeys = 2'000;

 private:
  static std::uint64_t hash_of(std::size_t key) { return stable_hash(std::to_string(key)); }

  std::mt19937_64 random_{17};
  Fleet fleet_;
  std::vector<Announced> named_;
  std::vector<double> popularity_;
  std::deque<std::shared_ptr<Worker>> live_;
  std::map<std::size_t, std::map<std::string, std::size_t>> asked_;
  std::size_t requests_ = 0;
};

TEST(Affinity, Load_stays_bounded_and_keys_stick_while_workers_come_and_go) {
  Traffic traffic(20);
  for (int round = 0; round < 6; ++round) {
    traffic.forget();
    for (int i = 0; i < 5'000; ++i) {
      traffic.step(400);
    }
    // A twentieth by chance; what does not stick are the most popular keys, whose share is more
    // than one worker may have.
    EXPECT_GT(traffic.sticking(), 0.6) << "round " << round;
    if (round % 2 == 0) {
      traffic.without(static_cast<std::size_t>(round));
    } else {
      traffic.all();
    }
  }
}

TEST(Affinity, A_worker_that_leaves_takes_its_own_keys_alone) {
  Traffic traffic(20);
  std::vector<std::string> before;
  std::map<std::string, std::size_t> homes;
  for (std::size_t key = 0; key < Traffic::kKeys; ++key) {
    before.push_back(traffic.home(key));
    ++homes[before.back()];
  }
  EXPECT_EQ(homes.size(), 20U);
  for (auto const& [url, keys] : homes) {
    EXPECT_GT(keys, 60U) << url;  // 100 each
    EXPECT_LT(keys, 150U) << url;
  }
  traffic.without(7);
  std::map<std::string, std::size_t> taken;
  for (std::size_t key = 0; key < Traffic::kKeys; ++key) {
    std::string const now = traffic.home(key);
    if (before[key] == "http://10.0.0.7:8000") {
      ++taken[now];
    } else {
      EXPECT_EQ(now, before[key]);
    }
  }
  EXPECT_GT(taken.size(), 15U);  // they spread over the others
  traffic.all();
  for (std::size_t key = 0; key < Traffic::kKeys; ++key) {
    EXPECT_EQ(traffic.home(key), before[key]);
  }
}

}  // namespace
}  // namespace lastcall::router
