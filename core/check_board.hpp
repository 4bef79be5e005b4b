// The engine's checks: the last result of each, and what a row of failures or of silence means.
//
// Rules:
//  1. A definite failure is fatal after `failure_threshold` consecutive ones; refused before all
//     were up it is an engine that loads.
//  2. A timeout only proves slowness. It is counted from when the check that timed out was asked.
//  3. A check that could not be asked proves nothing: a silence counts anew from the next one that
//     was, and failures stay as they are.
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
    bool passes = false;                // until all do, in its last result; from then on for good
    std::uint32_t failures = 0;         // consecutive and definite
    std::optional<Instant> slow_since;  // its first timeout since it passed
    std::optional<Instant> unanswered_since;  // when that one was asked
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

  /// `was_up`: the engine had started. The reason where this result is fatal.
  std::optional<std::string> finished(Instant now, CheckFinished const& result, bool was_up);
  void thresholds_changed(std::vector<std::uint32_t> const& thresholds);
  /// We were not running: silence counts from now on.
  void listen_anew(Instant now);

  std::vector<Row> const& rows() const { return rows_; }
  bool all_pass() const;
  /// The last answer of any.
  std::optional<Instant> answered_at() const { return answered_at_; }
  /// The longest silence of a check.
  std::optional<Instant> unanswered_since() const;
  /// When the first check has not passed for `limit`, counted from the last progress at the
  /// earliest.
  std::optional<Instant> silent_until(Duration limit, std::optional<Instant> progress_at) const;
  /// The first that is unanswered; absent: none is.
  std::optional<Finding> unanswered() const;
  /// The first of which that instant has come.
  std::optional<Finding> silent(Instant now, Duration limit,
                                std::optional<Instant> progress_at) const;
  /// One answers busy, or is slow: that, in words.
  std::optional<std::string> busy_text() const;
  /// One has failed, and not often enough: that, in words.
  std::optional<std::string> failing_text() const;

  void fingerprint(Mixer& m) const;

 private:
  Finding finding(std::size_t index) const;

  std::vector<CheckSettings> checks_;
  std::vector<Row> rows_;
  std::optional<Instant> answered_at_;
};

}  // namespace lastcall::lifecycle
