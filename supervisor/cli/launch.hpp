// What the launcher (supervisor/launcher) tells the program that it becomes.
//
// Thread rule: called once, from main, before there is a thread.
#pragma once

#include <string>

namespace lastcall::cli {

struct Launch {
  /// `lastcall` as users start it: beside it are the other programs. Where the program was
  /// started without the launcher, its own.
  std::string path = "lastcall";
  /// What is blocked for the shim that `run` becomes, such as `TERM,INT`: only what was not blocked
  /// before. Whoever becomes something else than the shim has to unblock it.
  std::string held_signals;
};

/// Takes both out of the environment, so that no child has them.
Launch take_launch();

}  // namespace lastcall::cli
