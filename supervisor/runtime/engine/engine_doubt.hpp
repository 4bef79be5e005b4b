// Runs the engine's checks at once and repeatedly while the ingress or an SDK holds back an error
// of the engine, until all checks have passed or the hold is over.
//
// Rules:
//  1. Only a check that began after the error was held proves that the engine survived it.
//  2. A check that has not passed runs again after a short pause, because one failure may not be
//     enough for the core, and because a check that was under way when the doubt arose proves
//     nothing.
//  3. If the engine's server may outlive the engine for a while, a check that passes within that
//     time proves nothing, and checks continue.
//  4. A doubt arises with each error; the pause limits how often checks run.
//
// Thread rule: the loop's thread. Source: docs/ingress.md, 'An engine that dies'.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "core/event.hpp"

namespace lastcall::runtime {

class EngineDoubt {
 public:
  struct Shell {
    /// Returns false if that check is running already.
    std::function<bool(std::size_t check)> run_now;
    /// The time for which the engine's server may answer checks although the engine has died; a
    /// check counts as a proof only if it began that long after the error.
    std::function<lifecycle::Duration()> server_outlives_engine;
    /// Called when the checks that have passed prove that the engine was alive at `since`.
    std::function<void(lifecycle::Instant since)> all_passed;
  };

  EngineDoubt(boost::asio::any_io_executor const& executor, Shell shell);

  void add_check() { checks_.emplace_back(); }
  void arises();
  void outcome(std::size_t check, lifecycle::CheckVerdict verdict);
  /// Called when checks no longer run.
  void end();

 private:
  struct Row {
    std::optional<lifecycle::Instant> began;  // start of the unfinished check for this doubt
    /// The last pass proves that the engine was alive at this time.
    std::optional<lifecycle::Instant> passed_from;
  };

  void look();
  void arm(lifecycle::Instant at);
  std::optional<lifecycle::Instant> all_passed_from() const;

  Shell const shell_;
  std::vector<Row> checks_;
  std::optional<lifecycle::Instant> since_;  // when the last doubt arose
  std::optional<lifecycle::Instant> looked_at_;
  boost::asio::steady_timer timer_;
};

}  // namespace lastcall::runtime
