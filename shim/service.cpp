#include "shim/service.hpp"

#include "shim/log.hpp"
#include "shim/restart_pause.hpp"
#include "shim/spawn.hpp"

namespace lastcall::shim {

int Service::start(Launch const& launch, Instant now) {
  ChildPlan const plan{.program = argv_[0],
                       .argv = argv_,
                       .environment = environment_,
                       .takes_terminal = false,
                       .is_service = true};
  Spawned const spawned = spawn(plan, launch);
  if (spawned.error != 0) {
    return spawned.error;
  }
  pid_ = spawned.pid;
  started_at_ = now;
  restart_at_.reset();
  return 0;
}

bool Service::restart_if_due(Launch const& launch, Instant now) {
  if (!restart_at_ || now < *restart_at_) {
    return false;
  }
  if (int const error = start(launch, now); error != 0) {
    pause_ = longer_pause(pause_);
    restart_at_ = now + pause_;
    LogLine() << "cannot start the supervisor " << argv_[0] << ": " << error_text(error)
              << "; next attempt in " << pause_.count() << " ms";
    return false;
  }
  return true;
}

bool Service::reaped(pid_t pid) {
  if (pid_ == 0 || pid != pid_) {
    return false;
  }
  pid_ = 0;
  return true;
}

bool Service::is_refusal(Ending ending) const {
  bool const is_explicit = ending.code == kExitFatal || ending.code == kExitUsage;
  return is_first_life_ && ending.signal == 0 && is_explicit;
}

void Service::ended(Ending ending, Instant now) {
  is_first_life_ = false;
  if (stays_down_) {
    return;
  }
  bool const lived_well = hurries_ || now - started_at_ >= kLivedWell;
  pause_ = longer_pause(lived_well ? Duration{} : pause_);
  restart_at_ = now + pause_;
  LogLine() << "the supervisor ended with " << (ending.signal != 0 ? "signal " : "code ")
            << (ending.signal != 0 ? ending.signal : ending.code) << "; starting it again in "
            << pause_.count() << " ms";
}

void Service::hurry(Instant now) {
  hurries_ = true;
  if (restart_at_) {
    restart_at_ = now;
  }
}

}  // namespace lastcall::shim
