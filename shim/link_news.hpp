// Remembers what the log last stated about the supervisor: whether it is connected, and why it
// refused the shim.
//
// Rule: a supervisor that refuses the shim does so at each attempt, and the shim never stops
// trying, so each reason is logged once. Pure values.
#pragma once

#include <cstddef>
#include <string_view>

#include "shim/deadline_rules.hpp"
#include "shim/text.hpp"

namespace lastcall::shim {

class LinkNews {
 public:
  static constexpr std::size_t kLongestRefusal = 64;

  /// The log's line about the connection; empty if there is nothing new.
  std::string_view standing(Standing now) {
    Standing const before = standing_;
    standing_ = now;
    if (now == Standing::gone && before == Standing::present) {
      return "the supervisor is gone";
    }
    return now == Standing::present && before == Standing::gone ? "the supervisor is back" : "";
  }
  bool is_new_refusal(std::string_view refusal) {
    if (refusal == refusal_.view()) {
      return false;
    }
    refusal_.clear();
    refusal_ << refusal;
    return true;
  }
  void welcomed() { refusal_.clear(); }

 private:
  Standing standing_ = Standing::never;
  TextOf<kLongestRefusal> refusal_;
};

}  // namespace lastcall::shim
