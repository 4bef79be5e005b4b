// The life of the connection: it is made, greeted, lost, made again, and closed.
#include <algorithm>
#include <utility>

#include "base/error_text.hpp"
#include "sdk/cpp/session.hpp"

namespace lastcall::sdk {
namespace {

constexpr int kReadsAtOnce = 16;  // afterwards others get their turn

}  // namespace

void Session::start() {
  if (!is_enabled()) {
    return;
  }
  if (options_.report_uncaught) {
    failures_.watch_uncaught(connection_->path(), protocol_.hello());
  }
  protocol_.callbacks().belong_to(weak_from_this());
  {
    auto const lock = lock_.hold();
    connection_->wake();
  }
  if (options_.own_thread) {
    thread_.start([self = shared_from_this()] { self->run_until_closed(); });
  }
}

void Session::run_until_closed() {
  run_once(0);  // a callback that closes is within a round that nothing wakes
  while (!is_closed_.load()) {
    run_once(-1);
  }
}

void Session::process() {
  if (!is_enabled()) {
    return;
  }
  std::unique_lock const turn(turn_, std::try_to_lock);
  if (turn) {  // otherwise another thread closes
    run_once(0);
  }
}

bool Session::can_wait() const {
  return !is_enabled() || (thread_.exists() && !thread_.is_current());
}

void Session::close(std::chrono::milliseconds at_most) {
  if (!is_enabled()) {
    lock_.locked([this](Later& later) { protocol_.end(later); });
    return;
  }
  {
    auto const lock = lock_.hold();
    close_by_ = Clock::now() + at_most;
    connection_->wake();
  }
  if (!thread_.exists()) {
    std::lock_guard const turn(turn_);
    if (!is_closed_.load()) {
      run_until_closed();
    }
  } else if (!thread_.is_current()) {  // on it a callback closes, and the thread ends after it
    thread_.join();
  }
}

void Session::run_once(int at_most_ms) {
  if (!is_enabled()) {
    return;
  }
  auto const ready = connection_->wait(at_most_ms);
  if (is_detached()) {
    return;
  }
  auto const now = Clock::now();
  lock_.stall().begin_round(now);
  std::string trouble;
  {
    auto const lock = lock_.hold();
    connection_->woke(now);
    if (!connection_->is_open() && now >= attempts_.next() && !close_by_) {
      trouble = connect(now);
    }
  }
  if (!trouble.empty()) {
    log_.in_a_row(std::move(trouble));
  }
  if (ready == Connection::Ready::input && !take_input()) {
    lock_.locked([this](Later& later) { disconnect(later); });
  }
  lock_.locked([this](Later& later) { finish_round(later); });
  lock_.stall().end_round();
}

std::string Session::connect(Clock::time_point now) {
  if (int const problem = connection_->open(); problem != 0) {
    attempts_.failed(now);
    if (!attempts_.is_problem(now)) {
      return {};
    }
    return "cannot connect to the supervisor at " + connection_->path() + ": " +
           error_text(problem) + "; trying again";
  }
  attempts_.succeeded(now);
  input_ = ipc::LineBuffer();
  protocol_.greet();
  connection_->end_greeting();
  return {};
}

void Session::disconnect(Later& later) {
  if (!connection_->is_open()) {
    return;
  }
  auto const now = Clock::now();
  attempts_.lost(now, protocol_.lost(now, later));
  connection_->close();
}

/// Writes the queued output and sets the timer, or ends.
void Session::finish_round(Later& later) {
  auto due = protocol_.tick(Clock::now(), later);
  if (connection_->is_open()) {
    if (connection_->is_overflowing()) {
      log_("over 1 MiB waits for the supervisor, which does not read; reconnecting");
      disconnect(later);
    } else if (!connection_->flush()) {
      disconnect(later);
    }
  }
  auto const sooner = [&](Clock::time_point at) { due = due ? std::min(*due, at) : at; };
  if (close_by_) {
    if (!connection_->is_open() || !connection_->has_output() || Clock::now() >= *close_by_) {
      disconnect(later);
      protocol_.end(later);
      is_closed_ = true;
    }
    if (is_closed_) {
      due.reset();  // nothing is left to do
    } else {
      sooner(*close_by_);
    }
  } else if (!connection_->is_open()) {
    sooner(attempts_.next());
  }
  connection_->wake_at(due);
  connection_->sleeps();
}

/// Returns false if the connection can no longer be used.
bool Session::take_input() {
  for (int i = 0; i < kReadsAtOnce; ++i) {
    std::span<char> const room = input_.prepare();
    auto const size = connection_->receive(room);
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
