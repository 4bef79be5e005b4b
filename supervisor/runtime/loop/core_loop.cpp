#include "supervisor/runtime/loop/core_loop.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.hpp"

namespace lastcall::runtime {

namespace {

/// After an absence, the data that waits on the sockets is read within this time.
constexpr lifecycle::Duration kCatchUp{50};

}  // namespace

struct CoreLoop::Timer {
  explicit Timer(boost::asio::io_context& io) : timer(io) {}
  boost::asio::steady_timer timer;
  lifecycle::Instant last_step{};
  /// Set while the loop catches up after an absence in a stop: the time that steps get, just before
  /// the deadline that was missed. Events that waited on the sockets come before what time decides.
  std::optional<lifecycle::Instant> catching_up_at;
  lifecycle::Instant caught_up_at{};
};

CoreLoop::CoreLoop(boost::asio::io_context& io, lifecycle::Lifecycle& core, Obey obey)
    : core_(core), obey_(std::move(obey)), timer_(std::make_unique<Timer>(io)) {}

CoreLoop::~CoreLoop() = default;

StepReply const& CoreLoop::feed(lifecycle::Event const& event) {
  static StepReply const kQueued;
  static StepReply const kOver{.refusal = {}, .answer = {}, .rejected = {}, .is_over = true};
  if (stepping_) {
    queue_.push_back(event);
    return kQueued;
  }
  if (halted_) {
    return kOver;
  }
  reply_.clear();
  stepping_ = true;
  replied_to_ = &event;
  step(event);
  replied_to_ = nullptr;
  if (!queue_.empty()) {
    step_queued();
  }
  stepping_ = false;
  rearm();
  return reply_;
}

/// Processes the events that obeying has caused; the reply stays the one to the event that was fed.
void CoreLoop::step_queued() {
  StepReply answer = std::exchange(reply_, {});
  while (!queue_.empty() && !halted_) {
    lifecycle::Event const next = std::move(queue_.front());
    queue_.pop_front();
    step(next);
  }
  reply_ = std::move(answer);
}

/// One reading of the clock serves both the core and the watch.
void CoreLoop::step(lifecycle::Event const& event) {
  Clock::time_point const began = Clock::now();
  note_absence(began);
  if (!halted_) {
    step_now(began, event);
  }
}

namespace {

/// Holds back the time of steps for a moment, then calls `over`.
template <typename Timer, typename Over>
void catch_up(Timer& timer, lifecycle::Instant missed, lifecycle::Instant now, Over over) {
  timer.catching_up_at = std::max(timer.last_step, missed - lifecycle::Duration{1});
  timer.caught_up_at = now + kCatchUp;
  timer.timer.expires_at(to_steady(timer.caught_up_at));
  timer.timer.async_wait([over = std::move(over)](boost::system::error_code error) {
    if (!error) {
      over();
    }
  });
}

}  // namespace

void CoreLoop::note_absence(Clock::time_point began) {
  lifecycle::Instant const now = from_steady(began);
  lifecycle::Duration const late = armed_for_ ? now - due_at_ : lifecycle::Duration{0};
  if (late > lifecycle::kOwnAbsence && !timer_->catching_up_at) {
    if (core_.snapshot().stop) {
      catch_up(*timer_, due_at_, now, [this] { expired(); });
      return;
    }
    due_at_ = now;  // so that it is reported only once
    step_now(began, lifecycle::TimerExpired{late});
  }
}

void CoreLoop::step_now(Clock::time_point began, lifecycle::Event const& event) {
  lifecycle::Instant const now = timer_->catching_up_at.value_or(from_steady(began));
  timer_->last_step = now;
  std::span<lifecycle::Action const> const actions = core_.step(now, event);
  bool const is_replied_to = replied_to_ == &event;
  if (observe_) {
    observe_(now, event, actions);
  }
  for (lifecycle::Action const& action : actions) {
    if (auto const* refusal = std::get_if<lifecycle::Refuse>(&action)) {
      reply_.refusal = *refusal;
    } else if (auto const* answer = std::get_if<lifecycle::Answer>(&action)) {
      reply_.answer = *answer;
    } else {
      if (is_replied_to) {
        note_decision(action);
      }
      obey_(now, action);
    }
  }
  if (watch_) {
    watch_(event, began, Clock::now());
  }
}

void CoreLoop::note_decision(lifecycle::Action const& action) {
  if (auto const* admit = std::get_if<lifecycle::Admit>(&action);
      admit != nullptr && is_in_reply(admit->peer, admit->id)) {
    reply_.is_admitted = true;
  } else if (auto const* reject = std::get_if<lifecycle::Reject>(&action);
             reject != nullptr && is_in_reply(reject->peer, reject->id)) {
    reply_.rejected = *reject;
  }
}

bool CoreLoop::is_in_reply(lifecycle::PeerId peer, std::string_view id) const {
  auto const* begun =
      replied_to_ != nullptr ? std::get_if<lifecycle::RequestBegun>(replied_to_) : nullptr;
  return begun != nullptr && begun->peer == peer && begun->id == id;
}

void CoreLoop::halt() {
  halted_ = true;
  timer_->timer.cancel();
}

void CoreLoop::rearm() {
  if (halted_ || timer_->catching_up_at) {
    return;
  }
  std::optional<lifecycle::Instant> const next = core_.next_deadline();
  if (!next || (armed_for_ && *armed_for_ <= *next)) {
    return;
  }
  armed_for_ = next;
  // A deadline that was overdue when it was armed is not late.
  due_at_ = std::max({*next, not_before_, monotonic_now()});
  timer_->timer.expires_at(to_steady(due_at_));
  timer_->timer.async_wait([this](boost::system::error_code error) {
    if (!error) {
      expired();
    }
  });
}

void CoreLoop::expired() {
  lifecycle::Instant const now = monotonic_now();
  lifecycle::Duration const late = now - due_at_;
  if (timer_->catching_up_at && now < timer_->caught_up_at) {
    return;  // the loop catches up after this missed deadline
  }
  bool const has_caught_up = std::exchange(timer_->catching_up_at, std::nullopt).has_value();
  if (late > lifecycle::kOwnAbsence && !has_caught_up && core_.snapshot().stop) {
    catch_up(*timer_, due_at_, now, [this] { expired(); });
    return;
  }
  armed_for_.reset();
  std::optional<lifecycle::Instant> const due = core_.next_deadline();
  // A deadline that stays unchanged after its own expiry must not become a busy loop.
  not_before_ = now + lifecycle::Duration{1};
  if (due && *due <= now) {
    feed(lifecycle::TimerExpired{late > lifecycle::kOwnAbsence ? late : lifecycle::Duration{0}});
  } else {
    rearm();
  }
}

}  // namespace lastcall::runtime
