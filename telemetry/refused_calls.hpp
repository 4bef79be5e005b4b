// Logs calls of operators and the kubelet that were refused, but only at a limited rate, because
// anybody may call as often as they like. The owner of such an object also counts every call.
//
// Thread rule: one thread; time is an argument. Source: docs/operations.md, 'Scaling down'.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "telemetry/log.hpp"
#include "telemetry/sparse_log.hpp"

namespace lastcall::telemetry {

struct RefusedCall {
  std::string caller;       // its address
  int status = 0;           // the answer's
  std::string_view path{};  // one of ours, which lives as long as the program; empty: not given
  std::string detail{};     // only for the log; may be empty
};

class RefusedCalls {
 public:
  /// `message` lives as long as the program.
  RefusedCalls(Log& log, std::string_view message) : log_(log), message_(message) {}

  void report(RefusedCall const& call, lifecycle::Instant now) {
    using Text = std::optional<std::string_view>;
    auto const left_out = sparse_.due(now);
    if (left_out) {
      log_.warning(message_, {{"from", call.caller},
                              {"status", call.status},
                              {"path", call.path.empty() ? Text() : Text(call.path)},
                              {"detail", call.detail.empty() ? Text() : Text(call.detail)},
                              {"more_before", *left_out}});
    }
  }

 private:
  static constexpr lifecycle::Duration kPeriod{10'000};

  Log& log_;
  std::string_view const message_;
  SparseLog sparse_{kPeriod};
};

}  // namespace lastcall::telemetry
