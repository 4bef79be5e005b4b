// Runs the core again with the events of a debug log, and compares its orders with those in the
// log.
//
// Rules:
//  1. The first difference ends the replay, with its line number. A difference is a step whose
//     actions differ, a gap in the records, or an event that is unreadable or impossible.
//  2. Lines that are not records of the step log are skipped: the engine may write to the same log.
//  3. The log is not trusted: nothing in it can break an invariant of the core's callers.
//
// Pure, no thread rule. The writer is step_log.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/lifecycle.hpp"

namespace lastcall::runtime {

/// The reason why a caller that follows the core's rules would not feed it that event now; empty if
/// it might.
std::string misfit(lifecycle::Lifecycle const& core, lifecycle::Event const& event);

struct ReplayMismatch {
  std::uint64_t line = 0;  // counted from 1
  std::string problem;
  std::string recorded;  // one action as JSON; empty if the problem is not an action
  std::string replayed;
};

class Replay {
 public:
  Replay();
  ~Replay();

  /// Reads the next line. Returns false if it differs (see mismatch()); then no more lines are
  /// accepted.
  bool take(std::string_view line);

  std::optional<ReplayMismatch> const& mismatch() const { return mismatch_; }
  std::uint64_t steps() const { return steps_; }
  /// The number of supervisors that started in the log.
  std::uint64_t lives() const { return lives_; }
  /// The version that recorded the log, if it is another one; its decisions may differ by design.
  std::string const& other_version() const { return other_version_; }

 private:
  struct Life;
  struct Record;

  bool disagree(std::string problem);
  bool start(Record const& record);
  bool step(Record const& record);
  bool taken(Record const& record);
  bool compare(Record const& record, std::string const& replayed);

  std::unique_ptr<Life> life_;
  std::optional<ReplayMismatch> mismatch_;
  std::string other_version_;
  std::uint64_t line_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t lives_ = 0;
};

}  // namespace lastcall::runtime
