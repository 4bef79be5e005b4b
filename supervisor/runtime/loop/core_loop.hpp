// Feeds the core and carries out its orders: this is the only place where time, events and orders
// meet.
//
// Invariants:
//  1. An event is processed in one step, at the time of that step; its actions are carried out in
//     order before the next step. There is no re-entry: events that arise meanwhile wait in a
//     queue.
//  2. Exactly one timer serves every deadline of the core. The timer is moved only to an earlier
//     deadline; a deadline that moves to a later time costs one spurious wake-up instead of a
//     system call per event.
//  3. A timer that fires much too late is reported before anything else, because it means that the
//     supervisor was not running.
//  4. After halt() no event is processed any more, and the reply to each states that.
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

  /// Receives the start and end of each step, including everything that it ordered.
  using Watch = std::function<void(lifecycle::Event const&, std::chrono::steady_clock::time_point,
                                   std::chrono::steady_clock::time_point)>;

  CoreLoop(boost::asio::io_context& io, lifecycle::Lifecycle& core, Obey obey);
  ~CoreLoop() override;

  void set_observer(Observe observe) { observe_ = std::move(observe); }
  void set_watch(Watch watch) { watch_ = std::move(watch); }
  StepReply const& feed(lifecycle::Event const& event) override;
  /// Whether the current decision is in the reply to this step's event, in which the caller finds
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
  lifecycle::Instant due_at_{};  // when the timer fires, while it is armed
  lifecycle::Instant not_before_{};
  std::deque<lifecycle::Event> queue_;
  StepReply reply_;
  lifecycle::Event const* replied_to_ = nullptr;  // the event of feed(), during its step
  bool stepping_ = false;
  bool halted_ = false;
};

}  // namespace lastcall::runtime
