#include "sdk/cpp/instance_phase.hpp"

#include <algorithm>
#include <utility>

namespace lastcall::sdk {

bool InstancePhase::is_connected() {
  bool is_welcomed = false;
  lock_.locked([&](Later&) { is_welcomed = is_welcomed_; });
  return is_welcomed;
}

std::optional<Phase> InstancePhase::phase() {
  std::optional<Phase> phase;
  lock_.locked([&](Later&) { phase = phase_; });
  return phase;
}

std::optional<std::chrono::milliseconds> InstancePhase::time_left() {
  std::optional<Clock::time_point> deadline;
  lock_.locked([&](Later&) { deadline = deadline_; });
  if (!deadline) {
    return std::nullopt;
  }
  auto const left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
  return std::max(left, std::chrono::milliseconds(0));
}

void InstancePhase::on_change(std::function<void(Phase)> callback) {
  // The callback that it replaces is destroyed afterwards, because that may call the client.
  lock_.locked([&](Later&) { callback_.swap(callback); });
}

void InstancePhase::welcomed(ipc::Welcome const& message, Later& later) {
  is_welcomed_ = true;
  if (message.phase == ipc::Phase::starting || message.phase == ipc::Phase::serving) {
    deadline_.reset();
  }
  enter(static_cast<Phase>(message.phase), later);
}

void InstancePhase::changed(ipc::PhaseChange const& message, Later& later) {
  deadline_ = message.deadline_at ? std::optional(instant_of(*message.deadline_at)) : std::nullopt;
  enter(static_cast<Phase>(message.phase), later);
}

bool InstancePhase::lost() {
  return std::exchange(is_welcomed_, false);
}

void InstancePhase::enter(Phase phase, Later& later) {
  if (phase != phase_) {
    phase_ = phase;
    if (callback_) {
      later.push_back([call = callback_, phase] { call(phase); });
    }
  }
}

}  // namespace lastcall::sdk
