// Requests that no worker accepts now and that may wait: answers that continue, requests that may
// have killed an engine, and answers that must be handed over before they are cut.
//
// Rules:
//  1. Answers that continue try first, the smallest prompt first. The others of a model try when no
//     such answer waits: suspects first, then answers that still come from their worker.
//  2. They try when room becomes free at a worker or a worker joins, and also after a time that
//     doubles from kFirst to kMost, so that workers that refuse are not asked all the time.
//  3. A request that finds no room ends the turn of its kind and model.
//
// Thread rule: the router's thread. Source: docs/router.md, 'How failures are contained'.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "router/fleet.hpp"
#include "router/pacing.hpp"

namespace boost::asio {
class io_context;
}

namespace lastcall::router {

class Waiter {
 public:
  Waiter() = default;
  Waiter(Waiter const&) = delete;
  Waiter& operator=(Waiter const&) = delete;

  enum class Tried : std::uint8_t {
    gone,     // it no longer waits: it was sent to a worker, or has ended
    no_room,  // suitable workers have no room
    refused,  // there is no worker
  };
  virtual Tried try_again() = 0;

 protected:
  ~Waiter() = default;
};

class WaitingRoom {
 public:
  static constexpr Time kFirst{50};
  static constexpr Time kMost{1'000};

  /// `changed` gets the number of waiting requests whenever it changes.
  WaitingRoom(boost::asio::io_context& io, std::function<void(std::size_t)> changed);
  ~WaitingRoom();

  void enter(Waiter& waiter, std::string_view model, LegWork const& work);
  void leave(Waiter& waiter);
  /// Called when there may be room: waiting requests try in the next turn of the loop.
  void wake();

 private:
  struct Timer;
  /// Model, kind, tokens, and the order of arrival.
  using Place = std::tuple<std::string, LegWork::Kind, std::uint64_t, std::uint64_t>;
  struct Entry {
    Waiter* waiter = nullptr;
    Time next{};
    Time pause = kFirst;
  };

  static bool is_of_model(Place const* one, Place const& other) {
    return one != nullptr && std::get<0>(*one) == std::get<0>(other);
  }
  void aim(Time at);
  void call();

  std::unique_ptr<Timer> timer_;
  std::function<void(std::size_t)> const changed_;
  std::map<Place, Entry> entries_;
  std::unordered_map<Waiter*, Place> places_;
  std::uint64_t last_ = 0;
  std::optional<Time> aimed_at_;
  bool has_room_ = false;  // since the last turn of the loop
};

}  // namespace lastcall::router
