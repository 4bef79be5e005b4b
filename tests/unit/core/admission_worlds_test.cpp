// Every interleaving of arrivals, hang-ups, ends, first bytes, resizes and time, for N and Q from 0
// to 3 (2 with priorities), to the fixed point: the machine against a list that is gone through
// from its start each time.
#include <deque>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/admission.hpp"

namespace lastcall::lifecycle {
namespace {

constexpr Duration kTick{1};
constexpr int kTimeout = 2;  // ticks

/// One request of the model; older ones stand before it.
struct Wish {
  bool runs = false;
  bool has_byte = false;
  std::uint8_t priority = kUsualPriority;
  int age = 0;
  Admission::Ticket ticket = Admission::kNone;
};

struct World {
  Admission machine;
  std::vector<Wish> model;
  Instant now = instant_from_ms(1'000);
  Admission::Owner next_owner = 0;
  std::vector<Admission::Owner> owners;  // beside the model's rows

  std::size_t running() const {
    return count([](Wish const& w) { return w.runs; });
  }
  std::size_t silent() const {
    return count([](Wish const& w) { return w.runs && !w.has_byte; });
  }
  std::size_t waiting() const { return model.size() - running(); }

  template <typename Is>
  std::size_t count(Is const& is) const {
    std::size_t n = 0;
    for (Wish const& wish : model) {
      n += is(wish) ? 1 : 0;
    }
    return n;
  }

  /// All that decides what comes next.
  std::string key() const {
    AdmissionLimits const& limits = machine.limits();
    std::string key = std::to_string(*limits.running) + "/" + std::to_string(limits.waiting);
    for (Wish const& wish : model) {
      key += wish.runs ? (wish.has_byte ? "R" : "r") : "w" + std::to_string(wish.age);
      key += wish.runs ? "" : "p" + std::to_string(wish.priority);
    }
    return key;
  }

  bool has_room() const {
    AdmissionLimits const& limits = machine.limits();
    return running() < *limits.running && (!limits.first_byte || silent() < *limits.first_byte);
  }

  /// The first of the most urgent that wait.
  std::vector<Wish>::iterator first_waiter() {
    auto first = model.end();
    for (auto it = model.begin(); it != model.end(); ++it) {
      if (!it->runs && (first == model.end() || it->priority < first->priority)) {
        first = it;
      }
    }
    return first;
  }

  Admission::Answer expected_answer() const {
    if (waiting() == 0 && has_room()) {
      return Admission::Answer::granted;
    }
    return waiting() < machine.limits().waiting ? Admission::Answer::queued
                                                : Admission::Answer::refused;
  }

  Admission::Owner owner_of(std::vector<Wish>::iterator wish) const {
    return owners[static_cast<std::size_t>(wish - model.begin())];
  }

  void erase(std::size_t index) {
    model.erase(model.begin() + static_cast<std::ptrdiff_t>(index));
    owners.erase(owners.begin() + static_cast<std::ptrdiff_t>(index));
  }

  void settle_grants() {
    while (auto const granted = machine.grant(now)) {
      ASSERT_TRUE(has_room()) << "granted above a limit: " << key();
      auto const first = first_waiter();
      ASSERT_NE(first, model.end());
      ASSERT_EQ(granted->owner, owner_of(first)) << "not in order: " << key();
      ASSERT_EQ(granted->waited, kTick * first->age);
      first->runs = true;
    }
    ASSERT_FALSE(has_room() && waiting() > 0) << "a place stays empty: " << key();
  }

  void check() const {
    ASSERT_EQ(machine.running(), running());
    ASSERT_EQ(machine.waiting(), waiting());
    ASSERT_EQ(machine.without_first_byte(), silent());
    ASSERT_EQ(machine.judge(), expected_answer());
    ASSERT_GE(machine.retry_after(), kRetryLeast);
    ASSERT_LE(machine.retry_after(), kRetryMost);
  }

  void arrive(std::uint8_t priority) {
    Admission::Answer const answer = expected_answer();
    ASSERT_EQ(machine.judge(), answer);
    if (answer == Admission::Answer::refused) {
      return;
    }
    Admission::Owner const owner = next_owner++;
    Admission::Ticket const ticket = machine.arrive(now, owner, priority);
    ASSERT_EQ(machine.is_waiting(ticket), answer == Admission::Answer::queued);
    model.push_back({answer == Admission::Answer::granted, false, priority, 0, ticket});
    owners.push_back(owner);
  }

  void tick() {
    now += kTick;
    for (Wish& wish : model) {
      wish.age += wish.runs ? 0 : 1;
    }
    while (auto const owner = machine.expired(now)) {
      std::size_t index = 0;
      while (owners[index] != *owner) {
        ASSERT_LT(++index, owners.size());
      }
      ASSERT_FALSE(model[index].runs);
      ASSERT_EQ(model[index].age, kTimeout) << "at another time than its own";
      erase(index);
    }
    ASSERT_EQ(count([](Wish const& w) { return !w.runs && w.age >= kTimeout; }), 0U);
  }
};

struct Explorer {
  Explorer(std::uint32_t most_places, std::optional<std::uint32_t> first_byte, bool priorities)
      : most(most_places) {
    World world;
    world.machine.set_limits({.running = 1,
                              .waiting = 1,
                              .wait_timeout = kTick * kTimeout,
                              .first_byte = first_byte,
                              .priorities = priorities});
    keep(std::move(world));
  }

  void keep(World world) {
    world.settle_grants();
    world.check();
    if (seen.insert(world.key()).second) {
      todo.push_back(std::move(world));
    }
  }

  void expand(World const& from) {
    bool const priorities = from.machine.limits().priorities;
    for (std::uint8_t const priority : {kUsualPriority, std::uint8_t{0}}) {
      if (priority == kUsualPriority || priorities) {
        World next = from;
        next.arrive(priority);
        keep(std::move(next));
      }
    }
    for (std::size_t i = 0; i < from.model.size(); ++i) {
      World ended = from;  // it ended, or hung up while it waited
      ended.machine.leave(ended.now, ended.model[i].ticket);
      ended.erase(i);
      keep(std::move(ended));
      World moved = from;
      moved.machine.first_byte(moved.now, moved.model[i].ticket);
      moved.model[i].has_byte = moved.model[i].runs;
      keep(std::move(moved));
    }
    World older = from;
    older.tick();
    keep(std::move(older));
    for (std::uint32_t n = 0; n <= most; ++n) {
      for (std::uint32_t q = 0; q <= most; ++q) {
        World resized = from;
        AdmissionLimits limits = from.machine.limits();
        limits.running = n;
        limits.waiting = q;
        resized.machine.set_limits(limits);
        keep(std::move(resized));
      }
    }
  }

  void run() {
    while (!todo.empty() && !testing::Test::HasFatalFailure()) {
      World const world = std::move(todo.front());
      todo.pop_front();
      expand(world);
    }
  }

  std::uint32_t most;
  std::set<std::string> seen;
  std::deque<World> todo;
};

TEST(AdmissionWorlds, Limits_and_queue_are_exact_in_every_interleaving) {
  Explorer explorer(3, std::nullopt, false);
  explorer.run();
  EXPECT_GT(explorer.seen.size(), 500U);
}

TEST(AdmissionWorlds, The_limit_on_first_bytes_is_exact_too) {
  Explorer explorer(3, 2, false);
  explorer.run();
  EXPECT_GT(explorer.seen.size(), 1'000U);
}

TEST(AdmissionWorlds, Priorities_keep_the_order_of_arrival_within_them) {
  Explorer explorer(2, std::nullopt, true);
  explorer.run();
  EXPECT_GT(explorer.seen.size(), 1'000U);
}

}  // namespace
}  // namespace lastcall::lifecycle
