#include "tests/simulation/shim_model.hpp"

namespace lastcall::simulation {

using namespace lifecycle;

ShimHello ShimModel::hello() const {
  ShimHello told;
  told.boot = boot;
  told.run = run;
  told.engine = engine;
  told.exit = exit;
  told.exited_at = engine_gone_at;
  told.ordered = ordered;
  told.alive = rest;
  told.stop_at = stop_at;
  told.blob = blob;
  return told;
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
