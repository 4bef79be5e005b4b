#include "sdk/cpp/link.hpp"

#include <algorithm>
#include <utility>

#include "base/error_text.hpp"

namespace lastcall::sdk {
namespace {

constexpr int kReadsAtOnce = 16;  // afterwards others get their turn

}  // namespace

void Link::begin() {
  auto const lock = lock_.hold();
  connection_.wake();
}

void Link::run_until_closed() {
  run_once(0);  // a callback that closes is within a round that nothing wakes
  while (!is_closed_.load()) {
    run_once(-1);
  }
}

void Link::process() {
  std::unique_lock const turn(turn_, std::try_to_lock);
  if (turn) {  // otherwise another thread closes
    run_once(0);
  }
}

void Link::close_by(Clock::time_point instant) {
  auto const lock = lock_.hold();
  close_by_ = instant;
  connection_.wake();
}

void Link::finish() {
  std::lock_guard const turn(turn_);
  if (!is_closed_.load()) {
    run_until_closed();
  }
}

void Link::run_once(int at_most_ms) {
  if (lock_.is_detached()) {
    return;
  }
  auto const ready = connection_.wait(at_most_ms);
  if (lock_.is_detached()) {
    return;
  }
  auto const now = Clock::now();
  lock_.stall().begin_round(now);
  std::string trouble;
  {
    auto const lock = lock_.hold();
    connection_.woke(now);
    if (!connection_.is_open() && now >= attempts_.next() && !close_by_) {
      trouble = connect(now);
    }
  }
  if (!trouble.empty()) {
    log_.in_a_row(std::move(trouble));
  }
  if (ready == Connection::Ready::input && !take_input()) {
    lock_.locked([this](Later& later) { disconnect(later); });
  }
  // What is late is judged by a time before the input was taken: the process may have hung
  // since then, and an answer may have arrived.
  lock_.locked([this, now](Later& later) { finish_round(now, later); });
  lock_.stall().end_round();
}

std::string Link::connect(Clock::time_point now) {
  if (int const problem = connection_.open(); problem != 0) {
    attempts_.failed(now);
    if (!attempts_.is_problem(now)) {
      return {};
    }
    return "cannot connect to the supervisor at " + connection_.path() + ": " +
           error_text(problem) + "; trying again";
  }
  attempts_.succeeded(now);
  input_ = ipc::LineBuffer();
  protocol_.greet();
  connection_.output().end_greeting();
  return {};
}

void Link::disconnect(Later& later) {
  if (!connection_.is_open()) {
    return;
  }
  auto const now = Clock::now();
  attempts_.lost(now, protocol_.lost(now, later));
  connection_.close();
}

/// Writes the queued output and sets the timer, or ends.
void Link::finish_round(Clock::time_point now, Later& later) {
  auto due = protocol_.tick(now, later);
  if (connection_.is_open()) {
    if (connection_.output().is_overflowing()) {
      later.push_back([this] {
        log_("over 1 MiB waits for the supervisor, which does not read; reconnecting");
      });
      disconnect(later);
    } else if (!connection_.flush()) {
      disconnect(later);
    }
  }
  auto const sooner = [&](Clock::time_point at) { due = due ? std::min(*due, at) : at; };
  if (close_by_) {
    if (!connection_.is_open() || connection_.output().is_empty() || Clock::now() >= *close_by_) {
      disconnect(later);
      protocol_.end(later);
      is_closed_ = true;
    }
    if (is_closed_) {
      due.reset();  // nothing is left to do
    } else {
      sooner(*close_by_);
    }
  } else if (!connection_.is_open()) {
    sooner(attempts_.next());
  }
  connection_.wake_at(due);
  connection_.sleeps();
}

/// Returns false if the connection can no longer be used.
bool Link::take_input() {
  for (int i = 0; i < kReadsAtOnce; ++i) {
    std::span<char> const room = input_.prepare();
    auto const size = connection_.receive(room);
    if (!size) {
      return false;
    }
    input_.commit(*size);
    while (auto const line = input_.next_line()) {
      if (!protocol_.receive(*line)) {
        return false;
      }
    }
    if (input_.is_overflowing()) {
      protocol_.refuse(
          {.code = ipc::ErrorCode::too_long,
           .message = "a line has more than " + std::to_string(ipc::kMaxLine) + " bytes"});
      return false;
    }
    if (*size < room.size()) {
      return true;
    }
  }
  return true;
}

}  // namespace lastcall::sdk
