// Runs the engine's checks on their interval.
//
// Invariants:
//  1. The first round starts at once, later ones at multiples of the interval; rounds that were
//     missed (a suspended machine) are not made up for. While the engine starts, they come sooner:
//     after a quarter of the time that it has been starting, kFirstPause at the least.
//  2. All checks start in the same round, from one timer: one wake-up an interval.
//  3. A check that still runs when its round comes is left alone: checks never overlap themselves.
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
  /// `index` is the one that add() gave; `name` is the check's.
  using OnOutcome =
      std::function<void(std::size_t index, std::string const& name, CheckOutcome const& outcome)>;

  CheckRunner(boost::asio::any_io_executor executor, Duration interval, OnOutcome on_outcome);
  ~CheckRunner();

  /// The pause between the first rounds of an engine that starts.
  static constexpr Duration kFirstPause{50};

  /// Before start().
  std::size_t add(std::string name, std::unique_ptr<Check> check, Duration timeout);

  /// Called at the start of each round, also without any check: the place for the loop's heartbeat.
  void on_round(std::function<void()> callback);
  /// Asked after each round: whether the engine has not been ready yet.
  void while_starting(std::function<bool()> is_starting);

  void start();
  void stop();
  /// Beside the rounds; false: it runs already, or none runs.
  bool run_now(std::size_t index);
  /// If started: the next round comes now, and the others an interval after it.
  void run_now();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace lastcall::probes
