// The state that the shim was started with and that its children get back: signal mask, directory,
// descriptors 0-2.
//
// Rules: 1. every signal is blocked before anything else happens, so that none is lost or acted on
// (`lastcall run`, which becomes the shim, does so with the stop signals, and passes on which of
// them it blocked); 2. descriptors above 2 are closed at once and the shim's own are close-on-exec,
// so a child sees 0, 1 and 2, and the shim never holds a descriptor of the engine's; 3. ignored
// signals stay ignored, but SIGCHLD (no status could be collected) and SIGPIPE are reset; 4. the
// shim itself moves to `/`, so that it pins no mount; children start in the directory that it was
// started in. Source: signal(7), posix_spawn(3), close_range(2).
#pragma once

#include <signal.h>

#include "shim/signal_names.hpp"

namespace lastcall::shim {

class Launch {
 public:
  /// Rule 1; returns a non-blocking signalfd of all signals.
  int take_signals();
  /// Unblocks, for children, the signals that are blocked only because `lastcall run` held them.
  void release(SignalBits held);
  /// Rule 2; this also works if seccomp refuses close_range(2).
  static void close_inherited_descriptors();
  /// Rule 4.
  void leave_directory();
  /// No child will be started any more.
  void forget_directory();

  sigset_t const& mask() const { return mask_; }
  /// The directory of rule 4; -1 if it could not be opened, and then the shim is still in it.
  int directory() const { return directory_; }

 private:
  sigset_t mask_{};
  int directory_ = -1;
};

/// Makes the shim adopt orphans even if it is not PID 1.
void become_subreaper();

}  // namespace lastcall::shim
