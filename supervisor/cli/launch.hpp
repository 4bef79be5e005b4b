// The values that the launcher (supervisor/launcher) passes to the program that it becomes.
//
// Thread rule: called once, from main, before there is a thread.
#pragma once

#include <string>

namespace lastcall::cli {

struct Launch {
  /// The path of `lastcall` as users start it: the other programs are next to it. If the program
  /// was started without the launcher, its own path.
  std::string path = "lastcall";
  /// The signals that are blocked for the shim that `run` becomes, such as `TERM,INT`: only those
  /// that were not blocked before. A process that does not become the shim has to unblock them.
  std::string held_signals;
};

/// Removes both values from the environment, so that no child inherits them.
Launch take_launch();

}  // namespace lastcall::cli
