#include "probes/checks/check_runner.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace lastcall::probes {
namespace {

/// While an engine starts, the next round comes after one n-th of the time that it has taken so
/// far, where n is this number.
constexpr int kStartingShare = 4;

}  // namespace

struct CheckRunner::State : std::enable_shared_from_this<CheckRunner::State> {
  struct Entry {
    std::string name;
    std::unique_ptr<Check> check;
    Duration timeout;
    bool running = false;
  };

  State(boost::asio::any_io_executor const& executor, Duration every, OnOutcome callback)
      : timer(executor), interval(every), on_outcome(std::move(callback)) {}

  /// `at` is when the round is due; the time of the next one is computed from it, not from now.
  void arm(std::chrono::steady_clock::time_point at) {
    timer.expires_at(at);
    timer.async_wait([self = shared_from_this(), at, era = era](boost::system::error_code error) {
      if (!error && self->era == era) {
        self->round();
        if (self->era == era) {  // a callback may have stopped us, or started a round
          self->arm(self->following(at));
        }
      }
    });
  }

  std::chrono::steady_clock::time_point following(std::chrono::steady_clock::time_point at) {
    if (!is_starting || !is_starting()) {
      starting_since.reset();
    } else {
      starting_since = starting_since.value_or(at);
      auto const now = std::chrono::steady_clock::now();
      auto const pause = std::max<std::chrono::steady_clock::duration>(
          (now - *starting_since) / kStartingShare, kFirstPause);
      if (pause < interval) {
        return now + pause;
      }
    }
    auto const missed = (std::chrono::steady_clock::now() - at) / interval;
    return at + (missed + 1) * interval;
  }

  void round() {
    auto const current = era;
    if (on_round) {
      on_round();
    }
    for (std::size_t i = 0; i < entries.size() && era == current; ++i) {
      run(i);
    }
  }

  bool run(std::size_t i) {
    if (std::exchange(entries[i].running, true)) {
      return false;
    }
    entries[i].check->start(entries[i].timeout, [this, i](CheckOutcome const& outcome) {
      entries[i].running = false;
      // The callback may destroy the runner.
      auto const keep = shared_from_this();
      on_outcome(i, entries[i].name, outcome);
    });
    return true;
  }

  void halt() {
    ++era;
    timer.cancel();
    for (auto& entry : entries) {
      entry.check->cancel();
      entry.running = false;
    }
  }

  boost::asio::steady_timer timer;
  Duration const interval;
  OnOutcome on_outcome;
  std::function<void()> on_round;
  std::function<bool()> is_starting;
  std::optional<std::chrono::steady_clock::time_point> starting_since;
  std::vector<Entry> entries;
  bool started = false;
  std::uint64_t era = 0;  // rises with each start and stop, and with a round that is run early
};

CheckRunner::CheckRunner(boost::asio::any_io_executor executor, Duration interval,
                         OnOutcome on_outcome)
    : state_(std::make_shared<State>(executor, interval, std::move(on_outcome))) {}

CheckRunner::~CheckRunner() {
  stop();
}

std::size_t CheckRunner::add(std::string name, std::unique_ptr<Check> check, Duration timeout) {
  state_->entries.push_back({std::move(name), std::move(check), timeout});
  return state_->entries.size() - 1;
}

void CheckRunner::on_round(std::function<void()> callback) {
  state_->on_round = std::move(callback);
}

void CheckRunner::while_starting(std::function<bool()> is_starting) {
  state_->is_starting = std::move(is_starting);
}

void CheckRunner::start() {
  state_->halt();
  state_->starting_since.reset();
  state_->started = true;
  state_->arm(std::chrono::steady_clock::now());
}

bool CheckRunner::run_now(std::size_t index) {
  return state_->started && state_->run(index);
}

void CheckRunner::stop() {
  state_->halt();
}

void CheckRunner::run_now() {
  if (!state_->started) {
    return;
  }
  ++state_->era;
  state_->timer.cancel();
  state_->arm(std::chrono::steady_clock::now());
}

}  // namespace lastcall::probes
