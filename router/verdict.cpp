#include "router/verdict.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace lastcall::router {
namespace {

/// The reasons of refusals of requests that an engine had begun.
constexpr std::array kBegun =
    std::to_array<std::string_view>({"migrate", "migrated", "grace_timeout", "timeout"});
constexpr std::array kFailing = std::to_array<unsigned>({502, 503, 504, 529});
/// Statuses for requests that no server knows how to handle: 501 and 505.
constexpr std::array kUnknown = std::to_array<unsigned>({501, 505});

bool is_one_of(std::span<unsigned const> statuses, unsigned status) {
  return std::find(statuses.begin(), statuses.end(), status) != statuses.end();
}

Verdict verdict_of_status(unsigned status) {
  if (is_one_of(kFailing, status)) {
    return Verdict::failing;
  }
  return status >= 500 && !is_one_of(kUnknown, status) ? Verdict::broke : Verdict::answer;
}

}  // namespace

Verdict verdict_of(relay::ResponseHead const& head) {
  std::string_view reason;
  if (head.fields.count("x-lastcall-reason", reason) != 1) {
    return verdict_of_status(head.status);
  }
  if (reason == "engine_error") {
    return Verdict::refused_begun;
  }
  std::string_view may_be_repeated;
  head.fields.count("x-should-retry", may_be_repeated);
  if (may_be_repeated != "true") {
    return Verdict::answer;
  }
  if (reason == "engine_dead") {
    return Verdict::engine_died;
  }
  bool const has_begun = std::find(kBegun.begin(), kBegun.end(), reason) != kBegun.end();
  return has_begun ? Verdict::refused_begun : Verdict::refused;
}

}  // namespace lastcall::router
