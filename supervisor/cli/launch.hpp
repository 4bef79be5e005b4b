// The values that the launcher (supervisor/launcher) passes to the program that it becomes.
//
// Thread rule: called once, from main, before there is a thread.
#pragma once

#include <string>

namespace lastcall::cli {

struct Launch {
  /// The path of `lastcall` as users start it: the other programs are beside it. Where the program
  /// was started without the launcher, its own path.
  std::string path = "lastcall";
  /// The signals that are blocked for the shim that `run` becomes, such as `TERM,INT`: only what
  /// was not blocked before. A process that becomes something other than the shim has to unblock
  /// it.
  std::string held_signals;
};

/// Takes both out of the environment, so that no child gets them.
Launch take_launch();

}  // namespace lastcall::cli
