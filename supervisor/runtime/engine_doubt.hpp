// While the ingress holds an error of the engine back: the checks run at once and again, until all
// have passed or the hold is over.
//
// Rules:
//  1. Only a check that began after the error was held proves that the engine survived it.
//  2. A check that has not passed runs again after a short pause: one failure may not be enough for
//     the core, and one that was under way when the doubt arose proves nothing.
//  3. Where a check that passes proves nothing, they go on until one fails or the hold is over.
//  4. Doubts come as often as errors do; the pause bounds how often checks run.
//
// Thread rule: the loop's thread. Source: docs/ingress.md, 'An engine that dies'.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "supervisor/lifecycle/event.hpp"

namespace lastcall::runtime {

class EngineDoubt {
 public:
  struct Shell {
    /// False: it is running already.
    std::function<bool(std::size_t check)> run_now;
    /// False: the engine's server may answer its checks for a moment after the engine has died.
    std::function<bool()> pass_proves_life;
    /// Every check has passed that began then or later.
    std::function<void(lifecycle::Instant since)> all_passed;
  };

  EngineDoubt(boost::asio::any_io_executor const& executor, Shell shell);

  void add_check() { checks_.emplace_back(); }
  void arises();
  void outcome(std::size_t check, lifecycle::CheckVerdict verdict);
  /// Checks do not run any more.
  void end();

 private:
  struct Row {
    std::optional<lifecycle::Instant> began;        // for this doubt, and has not ended
    std::optional<lifecycle::Instant> passed_from;  // when the last one that passed began
  };

  void look();
  void arm(lifecycle::Instant at);
  std::optional<lifecycle::Instant> all_passed_from() const;

  Shell const shell_;
  std::vector<Row> checks_;
  std::optional<lifecycle::Instant> since_;  // of the last doubt
  std::optional<lifecycle::Instant> looked_at_;
  boost::asio::steady_timer timer_;
};

}  // namespace lastcall::runtime
