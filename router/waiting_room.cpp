#include "router/waiting_room.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "ingress/poller.hpp"

namespace lastcall::router {

struct WaitingRoom::Timer {
  explicit Timer(boost::asio::io_context& io) : timer(io) {}
  boost::asio::steady_timer timer;
};

WaitingRoom::WaitingRoom(boost::asio::io_context& io) : timer_(std::make_unique<Timer>(io)) {}

WaitingRoom::~WaitingRoom() = default;

void WaitingRoom::enter(Waiter& waiter, std::string_view model, Load const& load) {
  Place place{std::string(model), load.kind, load.tokens, ++last_};
  entries_.emplace(place, Entry{.waiter = &waiter, .next = ingress::monotonic_now() + kFirst});
  places_.emplace(&waiter, std::move(place));
  aim(ingress::monotonic_now() + kFirst);
}

void WaitingRoom::leave(Waiter& waiter) {
  auto const found = places_.find(&waiter);
  if (found != places_.end()) {
    entries_.erase(found->second);
    places_.erase(found);
  }
}

void WaitingRoom::wake() {
  if (!places_.empty() && !has_room_) {
    has_room_ = true;
    aim(ingress::monotonic_now());
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
  std::string const* full_model = nullptr;
  for (Place const& place : turn) {
    std::string const& model = std::get<0>(place);
    auto const found = entries_.find(place);
    if (found == entries_.end() || (full_model != nullptr && *full_model == model)) {
      continue;
    }
    bool const is_suspect = std::get<1>(place) == Load::Kind::suspect;
    auto const before = found == entries_.begin() ? entries_.end() : std::prev(found);
    bool const is_behind = is_suspect && before != entries_.end() &&
                           std::get<0>(before->first) == model &&
                           std::get<1>(before->first) == Load::Kind::goes_on;
    if (is_behind || (!has_room && found->second.next > ingress::monotonic_now())) {
      continue;
    }
    Waiter& waiter = *found->second.waiter;
    Waiter::Tried const tried = waiter.try_again();
    if (tried == Waiter::Tried::gone) {
      leave(waiter);
      continue;
    }
    full_model = tried == Waiter::Tried::no_room ? &model : full_model;
    if (auto const still = entries_.find(place); still != entries_.end()) {
      still->second.next = ingress::monotonic_now() + still->second.pause;
      still->second.pause = std::min(2 * still->second.pause, kMost);
    }
  }
  Time soonest = Time::max();
  for (auto const& [place, entry] : entries_) {
    soonest = std::min(soonest, entry.next);
  }
  if (!entries_.empty()) {
    Time const now = ingress::monotonic_now();
    aim(has_room_ ? now : std::max(soonest, now + kFirst / 2));  // it may not have been its turn
  }
}

}  // namespace lastcall::router
