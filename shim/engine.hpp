// The engine's main process: starts it, signals it, and remembers how it ended.
//
// Rules: 1. the process id is known before anything is reaped, because spawn is synchronous and
// there is one thread; so the status is seen exactly once, however fast the process ends; 2. the
// process is signalled only between its start and its reap, when its id cannot belong to another
// process.
#pragma once

#include <sys/types.h>

#include "base/instant.hpp"
#include "shim/exit_code.hpp"
#include "shim/launch.hpp"
#include "shim/messages.hpp"
#include "shim/oom.hpp"
#include "shim/options.hpp"

namespace lastcall::shim {

class Engine {
 public:
  Engine(Options const& options, char* const* environment)
      : options_(options), environment_(environment) {}

  /// Returns 0, or the errno of exec.
  int start(Launch const& launch, Instant now);
  void send(int signal) const;
  /// Sends the stop signal, and CONT so that a stopped process can obey it.
  void stop(int signal);
  void note_kill();
  /// Returns true if this was the main process.
  bool reaped(pid_t pid, Ending ending, Instant now);

  bool is_running() const { return facts_.state == EngineFacts::State::running; }
  pid_t pid() const { return static_cast<pid_t>(facts_.pid); }
  EngineFacts const& facts() const { return facts_; }
  EngineFate fate() const;
  /// Records how many processes of the engine's tree are left; returns true if that has changed.
  bool note_alive(int alive) {
    bool const is_news = facts_.alive != alive;
    facts_.alive = alive;
    return is_news;
  }
  /// A descriptor of the kernel's count of OOM kills, for the supervisor; -1 if it cannot be read.
  int open_oom_counter() { return oom_.open_file(); }

 private:
  Options const& options_;
  char* const* environment_;
  OomCounter oom_;
  EngineFacts facts_;
  bool killed_ = false;
};

}  // namespace lastcall::shim
