#include "router/waiting_room.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.hpp"
#include "ingress/poller.hpp"

namespace lastcall::router {

struct WaitingRoom::Timer {
  explicit Timer(boost::asio::io_context& io) : timer(io) {}
  boost::asio::steady_timer timer;
};

WaitingRoom::WaitingRoom(boost::asio::io_context& io, std::function<void(std::size_t)> changed)
    : timer_(std::make_unique<Timer>(io)), changed_(std::move(changed)) {}

WaitingRoom::~WaitingRoom() = default;

void WaitingRoom::enter(Waiter& waiter, std::string_view model, LegWork const& work) {
  Place place{std::string(model), work.kind, work.tokens, ++last_};
  entries_.emplace(place, Entry{.waiter = &waiter, .next = monotonic_time() + kFirst});
  places_.emplace(&waiter, std::move(place));
  changed_(places_.size());
  aim(monotonic_time() + kFirst);
}

void WaitingRoom::leave(Waiter& waiter) {
  auto const found = places_.find(&waiter);
  if (found != places_.end()) {
    entries_.erase(found->second);
    places_.erase(found);
    changed_(places_.size());
  }
}

void WaitingRoom::wake() {
  if (!places_.empty() && !has_room_) {
    has_room_ = true;
    aim(monotonic_time());
  }
}

void WaitingRoom::aim(Time at) {
  if (aimed_at_ && *aimed_at_ <= at) {
    return;
  }
  aimed_at_ = at;
  std::chrono::steady_clock::time_point const when(at);
  timer_->timer.expires_at(when);
  timer_->timer.async_wait([this](boost::system::error_code const& error) {
    if (!error) {
      call();
    }
  });
}

void WaitingRoom::call() {
  aimed_at_.reset();
  bool const has_room = std::exchange(has_room_, false);
  std::vector<Place> turn;
  for (auto const& [place, entry] : entries_) {
    turn.push_back(place);
  }
  Place const* full = nullptr;        // the last place that found no room
  Place const* continuing = nullptr;  // the last continuing answer that still waits
  for (Place const& place : turn) {
    auto const found = entries_.find(place);
    if (found == entries_.end()) {
      continue;
    }
    LegWork::Kind const kind = std::get<1>(place);
    bool const is_full = is_of_model(full, place) && std::get<1>(*full) == kind;
    bool const is_behind = kind != LegWork::Kind::continues && is_of_model(continuing, place);
    bool const is_due = has_room || found->second.next <= monotonic_time();
    Waiter& waiter = *found->second.waiter;
    bool const tries = is_due && !is_full && !is_behind;
    Waiter::Tried const tried = tries ? waiter.try_again() : Waiter::Tried::refused;
    if (tried == Waiter::Tried::gone) {
      leave(waiter);
      continue;
    }
    full = tried == Waiter::Tried::no_room ? &place : full;
    continuing = kind == LegWork::Kind::continues ? &place : continuing;
    auto const still = entries_.find(place);
    if (tries && still != entries_.end()) {
      still->second.next = monotonic_time() + still->second.pause;
      still->second.pause = std::min(2 * still->second.pause, kMost);
    }
  }
  Time soonest = Time::max();
  for (auto const& [place, entry] : entries_) {
    soonest = std::min(soonest, entry.next);
  }
  if (!entries_.empty()) {
    Time const now = monotonic_time();
    aim(has_room_ ? now : std::max(soonest, now + kFirst / 2));  // it may have had no turn yet
  }
}

}  // namespace lastcall::router
