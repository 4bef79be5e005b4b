#include "supervisor/runtime/loop/core_loop.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace lastcall::runtime {
namespace {

constexpr lifecycle::Duration kSoon{200};

class CoreLoopTest : public ::testing::Test {
 protected:
  CoreLoopTest()
      : loop(io, core, [this](lifecycle::Instant, lifecycle::Action const& action) {
          orders.push_back(action.index());
          if (react) {
            react(action);
          }
        }) {
    loop.set_observer([this](lifecycle::Instant, lifecycle::Event const& event,
                             std::span<lifecycle::Action const>) {
      steps.push_back(event.index());
      orders_before_step.push_back(orders.size());
    });
  }

  template <typename Event>
  static std::size_t index() {
    return lifecycle::Event(Event{}).index();
  }

  boost::asio::io_context io{1};
  lifecycle::Lifecycle core{lifecycle::Settings{}};
  std::vector<std::size_t> steps;
  std::vector<std::size_t> orders;
  std::vector<std::size_t> orders_before_step;
  std::function<void(lifecycle::Action const&)> react;
  CoreLoop loop;
};

TEST_F(CoreLoopTest, An_event_that_arises_while_obeying_is_stepped_after_all_orders) {
  loop.feed(lifecycle::SupervisorStarted{});
  react = [this](lifecycle::Action const& action) {
    if (std::holds_alternative<lifecycle::StartEngine>(action)) {
      loop.feed(lifecycle::EngineStarted{});
      EXPECT_EQ(steps.back(), index<lifecycle::ShimHello>()) << "nothing re-enters";
    }
  };
  loop.feed(lifecycle::ShimHello{.boot = "b"});
  ASSERT_EQ(steps.back(), index<lifecycle::EngineStarted>());
  std::size_t const of_hello = orders_before_step.back();
  EXPECT_GE(of_hello, 2U) << "remember and start were obeyed before the next step";
}

TEST_F(CoreLoopTest, The_time_of_a_step_includes_its_actions) {
  std::chrono::steady_clock::duration longest{};
  loop.set_watch([&](lifecycle::Event const& event, auto began, auto ended) {
    EXPECT_EQ(event.index(), steps.back());
    longest = std::max(longest, ended - began);
  });
  loop.feed(lifecycle::SupervisorStarted{});
  std::chrono::steady_clock::duration ordered{};
  react = [&ordered](lifecycle::Action const&) {
    auto const began = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() < began + std::chrono::milliseconds(5)) {
    }
    ordered += std::chrono::steady_clock::now() - began;
  };
  loop.feed(lifecycle::ShimHello{.boot = "b"});
  EXPECT_GE(ordered, std::chrono::milliseconds(5));
  EXPECT_GE(longest, ordered);
}

TEST_F(CoreLoopTest, The_reply_is_the_answer_to_the_event_that_was_fed) {
  loop.feed(lifecycle::SupervisorStarted{});
  StepReply const reply = loop.feed(lifecycle::RequestEnded{.peer = 1, .id = "none"});
  ASSERT_TRUE(reply.refusal);
  EXPECT_EQ(reply.refusal->code, lifecycle::Refusal::not_yours);
  EXPECT_FALSE(loop.feed(lifecycle::TimerExpired{}).refusal);
}

lifecycle::RequestBegun relayed(std::string id) {
  return {.peer = lifecycle::kIngressPeer, .id = std::move(id), .admit = true};
}

TEST_F(CoreLoopTest, A_request_that_may_run_finds_that_in_the_reply) {
  loop.feed(lifecycle::SupervisorStarted{});
  react = [this](lifecycle::Action const& action) {
    if (auto const* admit = std::get_if<lifecycle::Admit>(&action)) {
      EXPECT_TRUE(loop.is_in_reply(admit->peer, admit->id));
    }
  };
  StepReply const& reply = loop.feed(relayed("r"));
  ASSERT_TRUE(reply.is_admitted);
  EXPECT_FALSE(reply.rejected);
  EXPECT_FALSE(loop.is_in_reply(lifecycle::kIngressPeer, "r")) << "the step is over";
}

TEST_F(CoreLoopTest, A_request_that_began_in_the_queue_is_admitted_by_an_order_alone) {
  loop.feed(lifecycle::SupervisorStarted{});
  bool is_known = false;
  react = [&, this](lifecycle::Action const& action) {
    if (std::holds_alternative<lifecycle::StartEngine>(action)) {
      EXPECT_FALSE(loop.feed(relayed("r")).is_admitted);
    } else if (auto const* admit = std::get_if<lifecycle::Admit>(&action)) {
      EXPECT_FALSE(loop.is_in_reply(admit->peer, admit->id));
      is_known = true;
    }
  };
  EXPECT_FALSE(loop.feed(lifecycle::ShimHello{.boot = "b"}).is_admitted);
  EXPECT_TRUE(is_known);
}

TEST_F(CoreLoopTest, The_cores_deadline_is_stepped_when_it_has_come) {
  loop.feed(lifecycle::SupervisorStarted{});
  auto const due = core.next_deadline();
  ASSERT_TRUE(due);
  while (steps.size() < 2 && io.run_one() > 0) {
  }
  EXPECT_EQ(steps.back(), index<lifecycle::TimerExpired>());
  EXPECT_GE(monotonic_now(), *due);
}

TEST_F(CoreLoopTest, After_an_absence_what_waits_is_read_before_a_missed_deadline_decides) {
  std::optional<int> code;
  react = [&code](lifecycle::Action const& action) {
    if (auto const* exit = std::get_if<lifecycle::ExitShim>(&action)) {
      code = exit->code;
    }
  };
  loop.feed(lifecycle::SupervisorStarted{});
  loop.feed(lifecycle::ShimHello{.boot = "b", .engine = lifecycle::EngineState::running});
  lifecycle::Duration const nearly_all = lifecycle::ShutdownSettings{}.grace_period - kSoon;
  loop.feed(lifecycle::StopSignalHeld{.name = "TERM", .at = monotonic_now() - nearly_all});
  ASSERT_FALSE(code);
  std::this_thread::sleep_for(kSoon + lifecycle::kOwnAbsence + kSoon);  // this process hung
  boost::asio::post(
      io, [this] { loop.feed(lifecycle::EngineExited{.exit = {.code = 0}, .ordered = true}); });
  io.run_for(std::chrono::seconds(20));
  EXPECT_EQ(code, 0);
}

TEST_F(CoreLoopTest, After_halt_nothing_is_stepped) {
  loop.feed(lifecycle::SupervisorStarted{});
  loop.halt();
  loop.feed(lifecycle::OwnSignal{"TERM"});
  EXPECT_EQ(steps.size(), 1U);
  EXPECT_EQ(io.run(), 1U) << "only the cancelled timer is left";
}

}  // namespace
}  // namespace lastcall::runtime
