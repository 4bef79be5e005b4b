// Feeds the core and carries out its orders: the only place where time, events and orders meet.
//
// Invariants:
//  1. An event is stepped with the time of its step; its actions are obeyed in their order before
//     the next event is stepped. There is no re-entry: events that arise meanwhile wait in a queue.
//  2. Exactly one timer serves every deadline of the core. It is moved only when a deadline comes
//     nearer; one that moved away costs a spurious wake-up, not a system call an event.
//  3. A timer that fires much too late is reported before anything else, because the supervisor was
//     not running.
//  4. After halt() nothing is stepped any more.
//
// Thread rule: the loop's thread.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "core/lifecycle.hpp"
#include "supervisor/runtime/loop/event_sink.hpp"

namespace boost::asio {
class io_context;
}

namespace lastcall::runtime {

class CoreLoop final : public EventSink {
 public:
  using Obey = std::function<void(lifecycle::Instant now, lifecycle::Action const&)>;
  /// Receives each step before it is carried out.
  using Observe = std::function<void(lifecycle::Instant now, lifecycle::Event const&,
                                     std::span<lifecycle::Action const>)>;

  /// Receives the duration of each step, with everything that it ordered.
  using Watch = std::function<void(lifecycle::Event const&, std::chrono::steady_clock::time_point,
                                   std::chrono::steady_clock::time_point)>;

  CoreLoop(boost::asio::io_context& io, lifecycle::Lifecycle& core, Obey obey);
  ~CoreLoop() override;

  void set_observer(Observe observe) { observe_ = std::move(observe); }
  void set_watch(Watch watch) { watch_ = std::move(watch); }
  StepReply const& feed(lifecycle::Event const& event) override;
  /// Whether the current decision is in the reply to the event of this step, where the caller finds
  /// it. False for an event that had waited in the queue, whose caller got no reply.
  bool is_in_reply(lifecycle::PeerId peer, std::string_view id) const;
  void halt();

 private:
  struct Timer;

  using Clock = std::chrono::steady_clock;

  void step(lifecycle::Event const& event);
  void step_now(Clock::time_point began, lifecycle::Event const& event);
  void step_queued();
  void note_decision(lifecycle::Action const& action);
  void note_absence(Clock::time_point began);
  void rearm();
  void expired();

  lifecycle::Lifecycle& core_;
  Obey obey_;
  Observe observe_;
  Watch watch_;
  std::unique_ptr<Timer> timer_;
  std::optional<lifecycle::Instant> armed_for_;
  lifecycle::Instant due_at_{};  // of the timer, while it is armed
  lifecycle::Instant not_before_{};
  std::deque<lifecycle::Event> queue_;
  StepReply reply_;
  lifecycle::Event const* replied_to_ = nullptr;  // the event of feed(), while it is stepped
  bool stepping_ = false;
  bool halted_ = false;
};

}  // namespace lastcall::runtime
