// The report's account of a drain or stop: requests by their outcome, and the work that was lost.
//
// Rules:
//  1. Counts start again with each drain or stop; a stop that joins a drain continues its counts.
//  2. Work that was lost with the engine costs a stop its clean exit code; work that the supervisor
//     cut does not.
//
// Owned by the core's thread. Source: specification, 'Drain report' and 'Exit codes'.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>

#include "core/mixer.hpp"
#include "core/recent_errors.hpp"
#include "core/remembered.hpp"
#include "core/vocabulary.hpp"

namespace lastcall::lifecycle {

class Tally {
 public:
  /// The report of the drain or stop that begins counts from now on.
  void begin() {
    outcomes_ = {};
    longest_ = Duration{0};
    in_flight_at_end_.reset();
  }
  /// The engine was dying before that was known, so errors of the last moment belong to its stop.
  void count_recent_errors(Instant now) { count_of(Outcome::error) = recent_errors_.count(now); }
  void settled(Instant now, Outcome outcome, Duration elapsed) {
    ++count_of(outcome);
    if (outcome == Outcome::error) {
      recent_errors_.ended(now);
    }
    longest_ = std::max(longest_, elapsed);
  }
  void rejected() { ++count_of(Outcome::rejected); }
  void began_late() { ++late_; }
  /// Records the work in flight before it is cut; the first figure counts.
  void note_in_flight_at_end(std::uint64_t in_flight) {
    if (!in_flight_at_end_ && in_flight > 0) {
      in_flight_at_end_ = in_flight;
    }
  }
  /// Counts a stop signal that changes nothing. Returns true if it is the first one.
  bool signal_ignored() { return ignored_signals_++ == 0; }

  void died_with_work() { died_with_work_ = true; }
  void judge_death(bool with_work) { died_with_work_ = with_work; }
  /// A fatal event ended the drain in the middle of its work.
  void aborted_with_work() { aborted_with_work_ = true; }

  void restore(Remembered const& remembered) {
    // Peers may have come back, and their requests ended, before this life knew of the stop.
    std::transform(outcomes_.begin(), outcomes_.end(), remembered.outcomes.begin(),
                   outcomes_.begin(), std::plus<>());
    in_flight_at_end_ = remembered.in_flight_at_end;
    died_with_work_ = remembered.died_with_work;
    aborted_with_work_ = remembered.aborted_with_work;
  }
  /// A stop has ended, and the next engine is awaited.
  void forget_stop() {
    begin();
    late_ = 0;
    ignored_signals_ = 0;
    died_with_work_ = aborted_with_work_ = false;
  }

  OutcomeCounts const& outcomes() const { return outcomes_; }
  /// Whether requests of this drain were lost with a process. Its end may be seen before the
  /// engine's.
  bool work_was_lost() const { return outcomes_[static_cast<std::size_t>(Outcome::lost)] > 0; }
  Duration longest_request() const { return longest_; }
  std::optional<std::uint64_t> in_flight_at_end() const { return in_flight_at_end_; }
  std::size_t late() const { return late_; }
  std::uint64_t ignored_signals() const { return ignored_signals_; }
  bool has_died_with_work() const { return died_with_work_; }
  bool was_aborted_with_work() const { return aborted_with_work_; }

  void fingerprint(Mixer& m) const { m.all(died_with_work_, aborted_with_work_, work_was_lost()); }

 private:
  std::uint64_t& count_of(Outcome outcome) { return outcomes_[static_cast<std::size_t>(outcome)]; }

  OutcomeCounts outcomes_{};
  RecentErrors recent_errors_;
  Duration longest_{};
  std::optional<std::uint64_t> in_flight_at_end_;  // if the drain ended for lack of time
  std::size_t late_ = 0;
  std::uint64_t ignored_signals_ = 0;
  bool died_with_work_ = false;
  bool aborted_with_work_ = false;
};

}  // namespace lastcall::lifecycle
