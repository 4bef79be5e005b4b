// The report of the last stop, which may be corrected when the end of the engine becomes known
// later.
//
// Rules:
//  1. 137 means that the engine had to be KILLed. A shim that stood still, or that a starved
//     machine kept from reporting in time, has reaped an engine that ended by itself: it does not
//     obey the 137, and reports that end at once. The code is then the one that the shim finds
//     (shim/exit_code.hpp, heed_code): 0 after our order, 1 without.
//  2. Only a 137 without a report of the end waits for it, and the first such report decides. The
//     logged report is not written again; a line after it gives its code.
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
  /// The report that goes to the shim with its order to exit; empty if there is none.
  std::string const& text() const { return text_; }
  void forget() { text_.clear(); }

  /// `end_is_reported`: the shim has reported how the engine ended.
  void shim_ordered(int code, bool end_is_reported);
  /// Whether the shim may still report another code.
  bool is_open() const { return !ordered_.empty(); }

  struct Correction {
    int code = 0;
    std::string report;
  };
  /// Handles the shim's report after the order. Absent if the report was right.
  std::optional<Correction> engine_exited(ipc::EngineExited const& exited);

 private:
  std::string text_;
  std::string ordered_;  // the report of a 137, while it is open
};

}  // namespace lastcall::runtime
