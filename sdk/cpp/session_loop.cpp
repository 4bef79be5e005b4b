// The life of the connection: it is made, greeted, lost, made again, and closed.
#include <algorithm>
#include <system_error>
#include <utility>

#include <poll.h>

#include "base/error_text.hpp"
#include "base/signals_blocked.hpp"
#include "sdk/cpp/session.hpp"

namespace lastcall::sdk {
namespace {

constexpr std::chrono::milliseconds kFastRetry{50};
constexpr std::chrono::milliseconds kSlowRetry{500};
constexpr std::chrono::seconds kFastFor{1};
constexpr int kReadsAtOnce = 16;  // afterwards others get their turn
constexpr std::chrono::seconds kComplainAfter{5};

}  // namespace

void Session::start() {
  if (!is_enabled()) {
    return;
  }
  if (options_.report_uncaught) {
    failures_.watch_uncaught(connection_->path(), hello_);
  }
  callbacks_.belong_to(weak_from_this());
  {
    auto const lock = lock_.hold();
    connection_->wake();
    if (!options_.own_thread) {
      return;
    }
    has_thread_ = true;
    running_ = shared_from_this();
  }
  SignalsBlocked const inherited;
  if (int const problem = ::pthread_create(&thread_, nullptr, run, this); problem != 0) {
    has_thread_ = false;
    running_.reset();
    throw std::system_error(problem, std::generic_category(), "cannot start the client's thread");
  }
}

void* Session::run(void* session) {
  auto& raw = *static_cast<Session*>(session);
  auto const self = std::move(raw.running_);
  self->run_until_closed();
  return nullptr;
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

bool Session::is_on_own_thread() const {
  return has_thread_ && ::pthread_equal(thread_, ::pthread_self()) != 0;
}

bool Session::can_wait() const {
  return !is_enabled() || (has_thread_ && !is_on_own_thread());
}

void Session::close(std::chrono::milliseconds at_most) {
  if (!is_enabled()) {
    lock_.locked([this](Later& later) { ledger_.clear(later); });
    return;
  }
  {
    auto const lock = lock_.hold();
    close_by_ = Clock::now() + at_most;
    connection_->wake();
  }
  if (!has_thread_) {
    std::lock_guard const turn(turn_);
    if (!is_closed_.load()) {
      run_until_closed();
    }
  } else if (!is_on_own_thread()) {  // on it a callback closes, and the thread ends after it
    std::lock_guard const lock(joining_);
    if (!std::exchange(is_joined_, true)) {
      ::pthread_join(thread_, nullptr);
    }
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
    if (!connection_->is_open() && now >= retry_at_ && !close_by_) {
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
    retry_at_ = now + (now - absent_since_ < kFastFor ? kFastRetry : kSlowRetry);
    if (now - absent_since_ < kComplainAfter) {
      return {};  // it may start later, or be restarting
    }
    return "cannot connect to the supervisor at " + connection_->path() + ": " +
           error_text(problem) + "; trying again";
  }
  connected_at_ = now;
  input_ = ipc::LineBuffer();
  ipc::Hello hello = hello_;
  hello.live = ledger_.announced_size();
  outbox_.send(hello);
  callbacks_.announce();
  fatal_.announce();
  endpoints_.announce();
  ledger_.announce();
  connection_->end_greeting();
  return {};
}

void Session::disconnect(Later& later) {
  if (!connection_->is_open()) {
    return;
  }
  auto const now = Clock::now();
  // A supervisor that never sent a welcome does not count as present, so slow retries continue.
  absent_since_ = phase_.lost() ? now : std::min(absent_since_, connected_at_);
  ledger_.lost(now, later);
  connection_->close();
  retry_at_ = now + (now - absent_since_ < kFastFor ? kFastRetry : kSlowRetry);
}

/// Writes the queued output and sets the timer, or ends.
void Session::finish_round(Later& later) {
  auto due = ledger_.tick(Clock::now(), later);
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
      ledger_.clear(later);
      fatal_.give_up();
      is_closed_ = true;
    }
    if (is_closed_) {
      due.reset();  // nothing is left to do
    } else {
      sooner(*close_by_);
    }
  } else if (!connection_->is_open()) {
    sooner(retry_at_);
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
      if (!receive(*line)) {
        return false;
      }
    }
    if (input_.is_overflowing()) {
      refuse({.code = ipc::ErrorCode::too_long,
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
