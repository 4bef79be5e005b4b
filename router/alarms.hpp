// Alarms for arbitrary times, all run by one timer. ingress::Deadlines serves the opposite case:
// many times of a few lengths.
//
// Rules:
//  1. An owner has one alarm at most, and is notified of it once.
//  2. An owner that is destroyed clears its alarm first.
//
// Thread rule: the router's thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "router/fleet.hpp"

namespace boost::asio {
class io_context;
}

namespace lastcall::router {

class Sleeper {
 public:
  Sleeper() = default;
  Sleeper(Sleeper const&) = delete;
  Sleeper& operator=(Sleeper const&) = delete;

  virtual void alarm_rings() = 0;

 protected:
  ~Sleeper() = default;

 private:
  friend class Alarms;
  std::optional<Time> at_;
};

class Alarms {
 public:
  explicit Alarms(boost::asio::io_context& io);
  ~Alarms();

  /// Replaces the owner's alarm.
  void set(Sleeper& sleeper, Time at);
  void clear(Sleeper& sleeper);

 private:
  struct Timer;

  void aim();
  void ring();

  std::unique_ptr<Timer> timer_;
  std::set<std::pair<Time, Sleeper*>> order_;
  std::optional<Time> aimed_at_;
};

}  // namespace lastcall::router
