// The engine's checks: the last result of each, and what a row of failures or of silence means.
//
// Rules:
//  1. `failure_threshold` consecutive definite failures are fatal; a refused connection before all
//     checks were up means that the engine loads.
//  2. A timeout only proves slowness. It counts from the time at which the check that timed out was
//     sent.
//  3. A check that could not be asked proves nothing: silence counts anew from the next one that
//     was asked, and failures stay as they are.
//  4. Thresholds may change while it runs; checks may not.
//
// Owned by the core's thread. Source: specification, 'Checks'.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/event.hpp"
#include "core/mixer.hpp"
#include "core/settings.hpp"

namespace lastcall::lifecycle {

class CheckBoard {
 public:
  struct Row {
    bool passes = false;                      // its last result; for good once all are up
    std::uint32_t failures = 0;               // consecutive definite failures
    std::optional<Instant> slow_since;        // its first timeout since it passed
    std::optional<Instant> unanswered_since;  // when that check was sent
    CheckVerdict last = CheckVerdict::passed;
    bool seen = false;
    std::string detail;
  };

  /// The check's name, and its last detail.
  struct Finding {
    std::string name;
    std::string because;  // ': its detail', where it has one
  };

  explicit CheckBoard(std::vector<CheckSettings> checks)
      : checks_(std::move(checks)), rows_(checks_.size()) {}

  /// `was_up`: the engine had started. Returns the reason if this result is fatal.
  std::optional<std::string> finished(Instant now, CheckFinished const& result, bool was_up);
  void thresholds_changed(std::vector<std::uint32_t> const& thresholds);
  /// The supervisor was not running, so silence counts from now on.
  void listen_anew(Instant now);

  std::vector<Row> const& rows() const { return rows_; }
  bool all_pass() const;
  /// The time of the last answer of any check.
  std::optional<Instant> answered_at() const { return answered_at_; }
  /// The longest silence of a check.
  std::optional<Instant> unanswered_since() const;
  /// The time at which a check will not have passed for `limit`, counted from the last progress at
  /// the earliest.
  std::optional<Instant> silent_until(Duration limit, std::optional<Instant> progress_at) const;
  /// The first unanswered check; absent if there is none.
  std::optional<Finding> unanswered() const;
  /// The first check for which that time has come.
  std::optional<Finding> silent(Instant now, Duration limit,
                                std::optional<Instant> progress_at) const;
  /// A text if a check answers busy or is slow.
  std::optional<std::string> busy_text() const;
  /// A text if a check has failed, but not often enough to be fatal.
  std::optional<std::string> failing_text() const;

  void fingerprint(Mixer& m) const;

 private:
  Finding finding(std::size_t index) const;

  std::vector<CheckSettings> checks_;
  std::vector<Row> rows_;
  std::optional<Instant> answered_at_;
};

}  // namespace lastcall::lifecycle
