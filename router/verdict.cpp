#include "router/verdict.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace lastcall::router {
namespace {

/// Reasons of requests that an engine had begun.
constexpr std::array kBegun =
    std::to_array<std::string_view>({"migrate", "migrated", "grace_timeout", "engine_dead"});
constexpr std::array kFailing = std::to_array<unsigned>({502, 503, 504, 529});

}  // namespace

Verdict verdict_of(relay::ResponseHead const& head) {
  std::string_view reason;
  if (head.fields.count("x-lastcall-reason", reason) != 1) {
    bool const fails = std::find(kFailing.begin(), kFailing.end(), head.status) != kFailing.end();
    return fails ? Verdict::failing : Verdict::answer;
  }
  std::string_view may_be_repeated;
  head.fields.count("x-should-retry", may_be_repeated);
  if (may_be_repeated != "true") {
    return Verdict::answer;
  }
  bool const has_begun = std::find(kBegun.begin(), kBegun.end(), reason) != kBegun.end();
  return has_begun ? Verdict::refused_begun : Verdict::refused;
}

}  // namespace lastcall::router
