// A registry whose answers the test gives, and a set of two of them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

#include "discovery/registry_set.hpp"
#include "tests/unit/discovery/loop.hpp"

namespace lastcall::discovery::test {

/// A registry whose answers the test gives: by a script, or by hand.
struct Script {
  int entered = 0;
  int removed = 0;
  int failures_to_come = 0;  // the next attempts fail
  Duration retry_after{0};   // with each failure
  bool by_hand = false;      // answers are given with answer()
  int hurried = 0;
  RegistryDone pending;
  std::function<void(std::string)> lose;
  bool disconnects = false;
  bool asks_once = false;
  bool stays_away = false;
  bool enters_last = false;
  RegistryDone farewell;

  void answer(RegistryResult result) { std::exchange(pending, nullptr)(std::move(result)); }
};

class FakeRegistry final : public Registry {
 public:
  FakeRegistry(boost::asio::io_context& io, Script& script) : io_(io), script_(script) {
    script_.lose = [this](std::string const& reason) { on_lost_(reason); };
  }
  void register_instances(TimePoint, RegistryDone done) override {
    ++script_.entered;
    reply(std::move(done));
  }
  void deregister(TimePoint, RegistryDone done) override {
    ++script_.removed;
    reply(std::move(done));
  }
  bool may_leave_later() const override { return !script_.asks_once; }
  bool may_enter_again() const override { return !script_.stays_away; }
  bool enters_last() const override { return script_.enters_last; }
  void hurry() override { ++script_.hurried; }
  bool disconnect(TimePoint, RegistryDone done) override {
    script_.farewell = std::move(done);
    return script_.disconnects;
  }

 private:
  void reply(RegistryDone done) {
    EXPECT_FALSE(script_.pending) << "two operations at once";
    if (script_.by_hand) {
      script_.pending = std::move(done);
      return;
    }
    bool const fails = script_.failures_to_come > 0;
    script_.failures_to_come -= fails ? 1 : 0;
    auto result = fails ? RegistryResult::failed("no route") : RegistryResult::ok();
    result.retry_after = fails ? script_.retry_after : Duration{0};
    boost::asio::post(io_, [done, result] { done(result); });
  }

  boost::asio::io_context& io_;
  Script& script_;
};

class RegistrySetTest : public LoopTest {
 protected:
  RegistrySetTest() {
    for (std::size_t i = 0; i < 2; ++i) {
      set_.add(i == 0 ? "a" : "b", std::make_unique<FakeRegistry>(io_, scripts_[i]));
    }
  }
  void remove_all(Duration within = Duration{20'000}) {
    set_.deregister_all(in(within), [this](std::vector<RegistryStatus> const& results) {
      results_ = results;
      ++ends_;
    });
  }
  RegistryState state(std::size_t i) const { return set_.status()[i].state; }
  bool both(RegistryState wanted) {
    return run_until([&] { return state(0) == wanted && state(1) == wanted; });
  }

  Script scripts_[2];
  Script& a_ = scripts_[0];
  Script& b_ = scripts_[1];
  std::vector<RegistryStatus> changes_;
  std::vector<RegistryStatus> results_;
  int ends_ = 0;
  RegistrySet set_{io_.get_executor(),
                   [this](RegistryStatus const& status) { changes_.push_back(status); },
                   {.retry_first = Duration{5}, .retry_most = Duration{20}, .jitter_seed = 1}};
};

}  // namespace lastcall::discovery::test
