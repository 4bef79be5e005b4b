// Logs every input of the core at debug level, so that `lastcall replay` can run it again.
//
// Rules:
//  1. There are three kinds of records, numbered together by `n` from 0 so that a gap is visible:
//     `core starts` with the settings, `step` with an event and its actions, and `cancels taken`
//     for cancels that a peer got between two steps, which are an input, too.
//  2. Records are built only at debug level. They are numbered at every level, so that a temporary
//     change of the level leaves a gap instead of a false history.
//  3. The records are in the order in which the core was called. What is provided for before a step
//     is logged may already send cancels, so a record of these waits for the record of the step.
//
// Thread rule: the loop's thread. The reader is replay.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/lifecycle.hpp"
#include "telemetry/log.hpp"

namespace lastcall::runtime {

class StepLog {
 public:
  explicit StepLog(telemetry::Log& log) : log_(log) {}

  void starts(lifecycle::Settings const& settings);
  /// The core has made a step, which step() will log.
  void step_made() { is_step_due_ = true; }
  void step(lifecycle::Instant now, lifecycle::Event const& event,
            std::span<lifecycle::Action const> actions);
  void taken(lifecycle::PeerId peer, std::size_t max_ids, std::size_t ids);

 private:
  struct Taken {
    lifecycle::PeerId peer;
    std::size_t max_ids;
    std::size_t ids;
  };

  void write(Taken const& taken);

  telemetry::Log& log_;
  std::uint64_t next_ = 0;
  bool is_step_due_ = false;
  std::vector<Taken> after_step_;
};

}  // namespace lastcall::runtime
