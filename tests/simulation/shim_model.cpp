#include "tests/simulation/shim_model.hpp"

namespace lastcall::simulation {

using namespace lifecycle;

ShimHello ShimModel::hello() const {
  ShimHello announced;
  announced.boot = boot;
  announced.run = run;
  announced.engine = engine;
  announced.exit = exit;
  announced.exited_at = engine_gone_at;
  announced.ordered = ordered;
  announced.alive = rest;
  announced.stop_at = stop_at;
  announced.blob = blob;
  return announced;
}

void ShimModel::hold_stop(Instant now) {
  if (!stop_at) {
    stop_at = now;
  }
}

bool ShimModel::start_engine() {
  if (!connected || engine != EngineState::waiting || stop_at) {
    return false;
  }
  engine = EngineState::running;
  return true;
}

void ShimModel::end_engine(EngineExit how, Instant now) {
  engine = EngineState::exited;
  exit = how;
  engine_gone_at = now;
}

}  // namespace lastcall::simulation
