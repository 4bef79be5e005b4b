// The supervisor as a child of the shim: run mode.
//
// Rules: 1. it has its own session, reads /dev/null and writes to stderr; 2. if it ends before the
// shim, it is started again after 0.1 s, doubling to 5 s, and from 0.1 s again once it has lived
// for 10 s; 3. a stop during the pause starts it at once, so that the drain continues, and from
// then on no pause is longer than the first; 4. when the shim ends, the supervisor gets a moment to
// end by itself, and then it is killed with all its descendants; 5. if its first life ends by
// itself with 1 or 2 before anything else has happened, it has reported that it cannot run as
// ordered, and nothing is started.
#pragma once

#include <optional>

#include <sys/types.h>

#include "base/instant.hpp"
#include "shim/exit_code.hpp"
#include "shim/launch.hpp"

namespace lastcall::shim {

class Service {
 public:
  /// If `argv` is null there is no supervisor, and every call does nothing.
  Service(char* const* argv, char* const* environment) : argv_(argv), environment_(environment) {}

  bool exists() const { return argv_ != nullptr; }
  bool is_running() const { return pid_ > 0; }
  /// Its process id, for walks of the process tree; 0 if it does not run.
  pid_t pid() const { return pid_; }

  /// Returns 0, or the errno of exec.
  int start(Launch const& launch, Instant now);
  /// Returns true if the supervisor was started.
  bool restart_if_due(Launch const& launch, Instant now);
  /// Returns true if this was the supervisor, which has no process id from now on.
  bool reaped(pid_t pid);
  /// Whether this end is a refusal by rule 5, as far as this child alone shows.
  bool is_refusal(Ending ending) const;
  /// Call it after reaped(), once the supervisor's pending lines were read.
  void ended(Ending ending, Instant now);
  void hurry(Instant now);
  void never_restart() {
    restart_at_.reset();
    stays_down_ = true;
  }

  std::optional<Instant> next_wake() const { return restart_at_; }

 private:
  char* const* argv_;
  char* const* environment_;
  pid_t pid_ = 0;
  bool is_first_life_ = true;
  bool stays_down_ = false;
  bool hurries_ = false;
  Instant started_at_{};
  Duration pause_{};
  std::optional<Instant> restart_at_;
};

}  // namespace lastcall::shim
