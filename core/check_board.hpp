// The engine's checks: the last result of each, and what repeated failures or silence mean.
//
// Rules:
//  1. `failure_threshold` consecutive definite failures are fatal; a refused connection before all
//     checks have passed once means that the engine is still loading.
//  2. A timeout only proves slowness. It counts from the time when the check was sent.
//  3. A check that could not be sent proves nothing: silence counts again from the next check
//     that is sent, and the failures so far remain.
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
    bool passes = false;                      // its last result; stays true once all are up
    std::uint32_t failures = 0;               // consecutive definite failures
    std::optional<Instant> slow_since;        // when it first timed out after it last passed
    std::optional<Instant> unanswered_since;  // when the check without an answer was sent
    CheckVerdict last = CheckVerdict::passed;
    bool seen = false;
    std::string detail;
  };

  /// The check's name, and its last detail.
  struct Finding {
    std::string name;
    std::string because;  // ': ' and the detail, if there is one
  };

  explicit CheckBoard(std::vector<CheckSettings> checks)
      : checks_(std::move(checks)), rows_(checks_.size()) {}

  /// `was_up`: the engine had started. Returns the reason if this result is fatal.
  std::optional<std::string> finished(Instant now, CheckFinished const& result, bool was_up);
  void thresholds_changed(std::vector<std::uint32_t> const& thresholds);
  /// The supervisor was not running, so silence counts from now on.
  void restart_silence(Instant now);

  std::vector<Row> const& rows() const { return rows_; }
  bool all_pass() const;
  /// The time of the last answer of any check.
  std::optional<Instant> answered_at() const { return answered_at_; }
  /// The start of the longest silence of a check.
  std::optional<Instant> unanswered_since() const;
  /// The time at which some check will have gone without success for `limit`, counted from the last
  /// progress at the earliest.
  std::optional<Instant> silent_until(Duration limit, std::optional<Instant> progress_at) const;
  /// The first unanswered check; absent if there is none.
  std::optional<Finding> unanswered() const;
  /// The first check that has reached that time.
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
