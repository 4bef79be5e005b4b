#include "core/stop_clock.hpp"

#include <algorithm>
#include <utility>

#include "core/check.hpp"

namespace lastcall::lifecycle {

void StopClock::begin_stop(Instant now, Stop stop, bool abbreviated) {
  LC_ASSERT(!stop_);
  book_.begin_stop(budgets_of(stop.cause_at));
  stop.deadline = book_.stop().deadline(stop.cause_at);
  if (abbreviated && now + kFatalTotal < stop.deadline) {
    stop.deadline = now + kFatalTotal;
    book_.shorten_stop(kFatalTotal);
  }
  stop_ = std::move(stop);
  keep_reserve();
}

void StopClock::shorten(Instant now, Duration within) {
  LC_ASSERT(stop_.has_value());
  if (now + within < stop_->deadline) {
    stop_->deadline = now + within;
    book_.shorten_stop(within);
  }
}

bool StopClock::limit_deadline(Instant deadline) {
  LC_ASSERT(stop_.has_value());
  if (deadline >= stop_->deadline) {
    return false;
  }
  stop_->deadline = deadline;
  keep_reserve();
  return true;
}

bool StopClock::limit_grace(Duration grace, bool stop_is_over) {
  if (!book_.limit_grace(grace)) {
    return false;
  }
  if (!stop_ || stop_is_over) {
    keep_reserve();
    return false;
  }
  Budgets const shorter = budgets_of(stop_->cause_at);
  if (!limit_deadline(shorter.deadline(stop_->cause_at))) {
    return false;
  }
  book_.begin_stop(shorter);
  keep_reserve();
  return true;
}

void StopClock::expect_acks_or_hooks(bool expected) {
  if (book_.expect_acks_or_hooks(expected) && stop_) {
    book_.shorten_stop(book_.stop().total);
    keep_reserve();
  }
}

void StopClock::end_drain(bool keeps_limit) {
  kill_at_.reset();
  if (!keeps_limit) {
    drain_limit_.reset();
  }
}

void StopClock::forget_stop() {
  stop_.reset();
  end_drain(false);
  hook.forget();
}

void StopClock::restore(std::optional<Stop> const& stop, std::optional<Instant> drain_limit,
                        std::optional<Hook> const& earlier_hook) {
  stop_ = stop;
  drain_limit_ = drain_limit;
  kill_at_.reset();
  hook.restore(earlier_hook);
  if (stop_) {
    book_.shorten_stop(std::max(stop_->deadline - stop_->cause_at, Duration{0}));
  }
}

// --- preStop -------------------------------------------------------------------------------------

void StopClock::begin_hook(Instant now, bool began_drain) {
  hook.call(now, began_drain);
  keep_reserve();
}

void StopClock::explain_hook() {
  if (hook.get()) {
    hook.explain();
    keep_reserve();
  }
}

bool StopClock::hook_was_called(Hook const& earlier, bool stop_is_over) {
  hook.was_called_at(earlier.called_at);
  return earlier.grace && limit_grace(*earlier.grace, stop_is_over);
}

std::optional<Instant> StopClock::hook_limit() const {
  auto const& called = hook.get();
  if (!called) {
    return std::nullopt;
  }
  Budgets const& budgets = book_.drain();
  return called->deletion ? budgets.kill_cancel_at(budgets.deadline(called->called_at))
                          : called->called_at + kRestartHook;
}

std::optional<StopClock::Hook> StopClock::reported_hook() const {
  auto known = hook.get();
  if (known && book_.read_grace()) {
    known->grace = book_.read_grace();
  }
  return known;
}

// --- questions -----------------------------------------------------------------------------------

Budgets StopClock::budgets() const {
  if (stop_) {
    return book_.stop();
  }
  return hook.binds() && !hook.get()->deletion ? book_.restart() : book_.drain();
}

std::optional<Instant> StopClock::stop_cancel_point() const {
  auto at =
      earlier_of(stop_ ? std::optional(book_.stop().stop_cancel_at(stop_->deadline)) : std::nullopt,
                 drain_limit_);
  if (hook.binds()) {
    Budgets const& budgets = hook.get()->deletion ? book_.drain() : book_.restart();
    at = earlier_of(at, *hook_limit() - budgets.settle);
  }
  return at;
}

std::optional<Instant> StopClock::kill_cancel_point() const {
  return earlier_of(
      stop_ ? std::optional(book_.stop().kill_cancel_at(stop_->deadline)) : std::nullopt,
      hook.is_over() ? std::nullopt : hook_limit());
}

Instant StopClock::kill_at(Instant now) const {
  return kill_at_ ? *kill_at_ : *earlier_of(now + budgets().settle, kill_cancel_point());
}

void StopClock::fingerprint(Mixer& m, bool drains) const {
  auto const mix = [&m](Budgets const& b) {
    m.all(b.deregister_timeout, b.late_accept, b.shared, b.reserve, b.settle, b.kill_margin);
  };
  if (stop_) {
    m.all(stop_->cause.kind, stop_->mode, stop_->deadline, stop_->in_starting);
    mix(book_.stop());
    // The value that a restarted supervisor will restore.
    mix(clamp_to_total(book_.settings(), stop_->deadline - stop_->cause_at));
  }
  m.put(hook.get().has_value());
  if (auto const& called = hook.get()) {
    m.all(*hook_limit(), called->deletion, called->began_drain, hook.is_over() || !drains);
    // The time that a stop will count as spent.
    m.put(std::min(m.now - called->called_at, book_.settings().grace_period));
  }
  if (drains) {
    m.all(drain_limit_, kill_at_);
  }
}

void StopClock::keep_reserve() {
  if (kill_at_) {
    kill_at_ = earlier_of(kill_at_, kill_cancel_point());
  }
}

}  // namespace lastcall::lifecycle
