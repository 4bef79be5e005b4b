#include "sdk/cpp/connect_attempts.hpp"

#include <algorithm>
#include <chrono>

namespace lastcall::sdk {
namespace {

constexpr std::chrono::milliseconds kFastRetry{50};
constexpr std::chrono::milliseconds kSlowRetry{500};
constexpr std::chrono::seconds kFastFor{1};
constexpr std::chrono::seconds kComplainAfter{5};

}  // namespace

bool ConnectAttempts::is_problem(Clock::time_point now) const {
  return now - absent_since_ >= kComplainAfter;
}

void ConnectAttempts::failed(Clock::time_point now) {
  next_ = now + (now - absent_since_ < kFastFor ? kFastRetry : kSlowRetry);
}

void ConnectAttempts::lost(Clock::time_point now, bool was_welcomed) {
  absent_since_ = was_welcomed ? now : std::min(absent_since_, connected_at_);
  failed(now);
}

}  // namespace lastcall::sdk
