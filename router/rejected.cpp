#include "router/rejected.hpp"

#include <chrono>
#include <string_view>

namespace lastcall::router {

relay::Refusal all_busy(lifecycle::LoadExcess const& excess, std::uint64_t draw) {
  constexpr std::int64_t kLeast = 1'000;
  constexpr std::uint64_t kSpread = 1'000;
  relay::Refusal refusal{
      503,
      "service_unavailable",
      "Service temporarily unavailable: All workers are busy, please retry later",
      true,
      "busy",
      std::chrono::milliseconds{kLeast + static_cast<std::int64_t>(draw % kSpread)}};
  refusal.excess = excess;
  return refusal;
}

bool is_rejection(relay::ResponseHead const& head) {
  constexpr unsigned kOverloaded = 529;
  std::string_view reason;
  if (head.fields.count("x-lastcall-reason", reason) != 1) {
    return head.status == kOverloaded;
  }
  return reason == "overloaded" || reason == "queue_timeout" || reason == "busy";
}

}  // namespace lastcall::router
