// `lastcall admission`: shows and changes the limits of admission and the load thresholds.
//
// Without a flag it only shows them. A value without a flag stays, and `null` clears it. All flags
// are checked before anything is sent; limits and thresholds are two messages, in that order.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "supervisor/cli/operator.hpp"

namespace lastcall::cli {

struct AdmissionOptions {
  OperatorOptions common;
  std::optional<std::string> engine_request_limit;
  std::optional<std::string> queue_limit;
  std::optional<std::string> queue_timeout;
  std::optional<std::string> engine_wait_limit;
  std::optional<std::string> active_decode_blocks_threshold;
  std::optional<std::string> active_prefill_tokens_threshold;
};

int run_admission(AdmissionOptions const& options, config::Environment const& environment,
                  std::ostream& out, std::ostream& err);

}  // namespace lastcall::cli
