#include "core/engine_process.hpp"

#include "core/check.hpp"
#include "core/exit_code.hpp"

namespace lastcall::lifecycle {

bool EngineProcess::reported_by(ShimHello const& hello) {
  ordered_ = ordered_ || hello.ordered;
  EngineState const before = state_;
  if (hello.engine != EngineState::exited) {
    state_ = hello.engine;
  }
  if (hello.engine != EngineState::running) {
    return false;
  }
  gone_at_.reset();
  tree_.forget();
  return before != EngineState::running;
}

bool EngineProcess::started() {
  if (state_ != EngineState::waiting) {
    return false;
  }
  state_ = EngineState::running;
  tree_.forget();
  return true;
}

void EngineProcess::exited(Instant now, EngineExited const& exited, Reported when) {
  LC_ASSERT(state_ != EngineState::exited);
  could_not_run_ = when == Reported::at_once && state_ == EngineState::waiting &&
                   exited.exit.signal == 0 &&
                   (exited.exit.code == kExitNotExecutable || exited.exit.code == kExitNotFound);
  state_ = EngineState::exited;
  gone_at_ = now;
  exit_ = exited.exit;
  ordered_ = ordered_ || exited.ordered;
}

void EngineProcess::lost(Instant now, bool killed_for_memory) {
  if (state_ == EngineState::running) {
    exit_.oom = killed_for_memory;
  }
  state_ = EngineState::exited;
  gone_at_ = now;
}

void EngineProcess::forget() {
  state_ = EngineState::waiting;
  exit_ = {};
  gone_at_.reset();
  ordered_ = killed_ = could_not_run_ = false;
  tree_.forget();
}

void EngineProcess::judge_kill(bool was_due) {
  killed_ = (killed_ || was_due) && exit_.signal == kSigKill;
}

std::string EngineProcess::exit_text(bool ordered) const {
  if (could_not_run_) {
    return exit_.code == kExitNotFound ? "the engine's command was not found (127)"
                                       : "the engine's command cannot be executed (126)";
  }
  if (exit_.oom) {
    return exit_.signal == kSigKill
               ? "the engine was killed for lack of memory (oom)"
               : "the engine ended after one of its processes was killed for lack of memory (oom)";
  }
  if (ordered) {
    return "the engine ended on the shim's stop signal, with " +
           (exit_.signal != 0 ? "signal " + std::to_string(exit_.signal)
                              : "code " + std::to_string(exit_.code));
  }
  if (exit_.signal != 0) {
    return "the engine was killed by signal " + std::to_string(exit_.signal) + " (" +
           std::to_string(128 + exit_.signal) + ")";
  }
  return "the engine exited by itself with code " + std::to_string(exit_.code);
}

void EngineProcess::fingerprint(Mixer& m) const {
  m.all(state_, exit_.code, exit_.signal, ordered_, killed_, could_not_run_, tree_.state(),
        tree_.main_ends_by());
  if (gone_at_) {
    m.put(tree_.counted_from(*gone_at_) + kAfterEngine);
  }
}

}  // namespace lastcall::lifecycle
