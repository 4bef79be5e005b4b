// The report of the last stop, which may be corrected if the end of the engine becomes known later.
//
// Rules:
//  1. 137 means that the engine had to be KILLed. If the engine had ended by itself, but its shim
//     hung or was starved of processor time and could not report that in time, the shim does
//     not obey the 137, and reports the end at once. The code is then the one that the shim
//     determines (shim/exit_code.hpp, heed_code): 0 if the supervisor had ordered the end,
//     otherwise 1.
//  2. Only a 137 without a report of the engine's end waits for such a report, and the first one
//     decides. The report that was logged is not written again; a line after it states the new
//     code.
//
// Pure values; no thread rule. Source: specification, 'Exit codes'.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "ipc/to_supervisor.hpp"

namespace lastcall::runtime {

class FinalReport {
 public:
  void publish(std::string json) { text_ = std::move(json); }
  /// The report that is sent to the shim with its order to exit; empty if there is none.
  std::string const& text() const { return text_; }
  void forget() { text_.clear(); }

  /// `end_is_reported` is true if the shim has reported how the engine ended.
  void shim_ordered(int code, bool end_is_reported);
  /// Whether the shim may still report another code.
  bool is_open() const { return !ordered_.empty(); }

  struct Correction {
    int code = 0;
    std::string report;
  };
  /// Handles a report of the shim after the order. Absent if the code was right.
  std::optional<Correction> engine_exited(ipc::EngineExited const& exited);

 private:
  std::string text_;
  std::string ordered_;  // the report of a 137, while it is open
};

}  // namespace lastcall::runtime
