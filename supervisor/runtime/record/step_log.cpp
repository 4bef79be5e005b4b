#include "supervisor/runtime/record/step_log.hpp"

#include "supervisor/runtime/record/event_log.hpp"

namespace lastcall::runtime {

void StepLog::starts(lifecycle::Settings const& settings) {
  std::uint64_t const n = next_++;
  if (log_.is_on(telemetry::LogLevel::debug)) {
    log_.debug("core starts", {{"n", n},
                               {"version", LASTCALL_VERSION},
                               telemetry::Field::json("settings", event_log::encode(settings))});
  }
}

void StepLog::step(lifecycle::Instant now, lifecycle::Event const& event,
                   std::span<lifecycle::Action const> actions) {
  std::uint64_t const n = next_++;
  if (log_.is_on(telemetry::LogLevel::debug)) {
    log_.debug("step", {{"n", n},
                        {"at_ms", lifecycle::to_ms(now)},
                        telemetry::Field::json("event", event_log::encode(event)),
                        telemetry::Field::json("actions", event_log::encode(actions))});
  }
  is_step_due_ = false;
  for (Taken const& taken : after_step_) {
    write(taken);
  }
  after_step_.clear();
}

void StepLog::taken(lifecycle::PeerId peer, std::size_t max_ids, std::size_t ids) {
  Taken const taken{.peer = peer, .max_ids = max_ids, .ids = ids};
  if (is_step_due_) {
    after_step_.push_back(taken);
  } else {
    write(taken);
  }
}

void StepLog::write(Taken const& taken) {
  std::uint64_t const n = next_++;
  if (log_.is_on(telemetry::LogLevel::debug)) {
    log_.debug("cancels taken",
               {{"n", n}, {"peer", taken.peer}, {"max", taken.max_ids}, {"ids", taken.ids}});
  }
}

}  // namespace lastcall::runtime
