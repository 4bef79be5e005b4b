#include "supervisor/runtime/record/step_log.hpp"

#include "supervisor/runtime/record/event_log.hpp"

namespace lastcall::runtime {

void StepLog::starts(lifecycle::Settings const& settings) {
  std::uint64_t const n = next_++;
  if (log_.is_on(LogLevel::debug)) {
    log_.debug("core starts", {{"n", n},
                               {"version", LASTCALL_VERSION},
                               Field::json("settings", event_log::encode(settings))});
  }
}

void StepLog::step(lifecycle::Instant now, lifecycle::Event const& event,
                   std::span<lifecycle::Action const> actions) {
  std::uint64_t const n = next_++;
  if (log_.is_on(LogLevel::debug)) {
    log_.debug("step", {{"n", n},
                        {"at_ms", lifecycle::to_ms(now)},
                        Field::json("event", event_log::encode(event)),
                        Field::json("actions", event_log::encode(actions))});
  }
}

void StepLog::taken(lifecycle::PeerId peer, std::size_t max_ids, std::size_t ids) {
  std::uint64_t const n = next_++;
  if (log_.is_on(LogLevel::debug)) {
    log_.debug("cancels taken", {{"n", n}, {"peer", peer}, {"max", max_ids}, {"ids", ids}});
  }
}

}  // namespace lastcall::runtime
