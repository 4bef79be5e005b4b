// The will: what the supervisor has left in case the shim must finish a stop alone.
//
// Rules: 1. the last one counts; 2. its deadline belongs to deadline_rules.hpp; 3. a code in it is
// the exit code, whatever happens to the engine; without a code the table decides; 4. its report is
// passed on unchanged, except that the shim adds the code and the engine's end.
// Source: specification, 'Failing safe', docs/ipc.md.
#pragma once

#include <optional>
#include <string_view>

#include "shim/json.hpp"
#include "shim/messages.hpp"

namespace lastcall::shim {

class Will {
 public:
  void keep(Order const& order) {
    code_ = order.exit_code;
    report_.clear();
    if (!order.raw_report.empty()) {
      json::decode_string(order.raw_report, report_);
    }
  }
  void forget() {
    code_.reset();
    report_.clear();
  }

  std::optional<int> code() const { return code_; }
  /// The report: an object, or empty.
  std::string_view report() const { return report_.view(); }

 private:
  std::optional<int> code_;
  TextOf<kLongestWillReport> report_;
};

}  // namespace lastcall::shim
