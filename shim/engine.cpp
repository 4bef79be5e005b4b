#include "shim/engine.hpp"

#include <signal.h>

#include "shim/spawn.hpp"

namespace lastcall::shim {

int Engine::start(Launch const& launch, Instant now) {
  if (options_.supervised()) {
    oom_.watch();
  }
  ChildPlan const plan{.program = options_.command[0],
                       .argv = options_.command,
                       .environment = environment_,
                       .takes_terminal = options_.tty,
                       .is_service = false};
  Spawned const spawned = spawn(plan, launch);
  if (spawned.error == 0) {
    facts_.state = EngineFacts::State::running;
    facts_.pid = spawned.pid;
    facts_.started_at = now;
  }
  return spawned.error;
}

void Engine::send(int signal) const {
  if (is_running() && signal != 0) {
    kill(pid(), signal);
  }
}

void Engine::stop(int signal) {
  facts_.ordered = is_running();
  send(signal);
  send(SIGCONT);
}

void Engine::note_kill() {
  if (is_running()) {
    facts_.ordered = killed_ = true;
  }
}

bool Engine::reaped(pid_t reaped_pid, Ending ending, Instant now) {
  if (!is_running() || reaped_pid != pid()) {
    return false;
  }
  facts_.state = EngineFacts::State::exited;
  facts_.ending = ending;
  facts_.exited_at = now;
  facts_.oom = options_.supervised() && oom_.kills_since_watch() > 0;
  return true;
}

EngineFate Engine::fate() const {
  return {.started = facts_.state != EngineFacts::State::waiting,
          .ended = facts_.state == EngineFacts::State::exited,
          .ordered = facts_.ordered,
          .killed = killed_,
          .ending = facts_.ending};
}

}  // namespace lastcall::shim
