// Runs the engine's checks at a fixed interval.
//
// Invariants:
//  1. The first round starts at once, later ones at multiples of the interval; rounds that were
//     missed (on a suspended machine) are not made up for. While the engine starts, rounds come
//     sooner: after a quarter of the time that it has been starting, but at least kFirstPause.
//  2. One timer starts all checks of a round, so there is one wake-up per interval.
//  3. A check that still runs when its next round comes is left alone: it never overlaps itself.
//  4. After stop() no outcome is reported.
//
// Thread rule: everything on the loop thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "probes/checks/check.hpp"

namespace lastcall::probes {

class CheckRunner {
 public:
  /// `index` is the value that add() returned; `name` is the check's name.
  using OnOutcome =
      std::function<void(std::size_t index, std::string const& name, CheckOutcome const& outcome)>;

  CheckRunner(boost::asio::any_io_executor executor, Duration interval, OnOutcome on_outcome);
  ~CheckRunner();

  /// The pause between the first rounds of an engine that starts.
  static constexpr Duration kFirstPause{50};

  /// Only before start().
  std::size_t add(std::string name, std::unique_ptr<Check> check, Duration timeout);

  /// Sets a callback for the start of each round, even without any check: it makes the loop's
  /// heartbeat.
  void on_round(std::function<void()> callback);
  /// `is_starting` is called after each round and returns whether the engine is still starting.
  void while_starting(std::function<bool()> is_starting);

  void start();
  void stop();
  /// Runs one check outside the rounds; false if it already runs or the runner is stopped.
  bool run_now(std::size_t index);
  /// If started: the next round comes now, and later ones at intervals from it.
  void run_now();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace lastcall::probes
