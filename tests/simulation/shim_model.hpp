// The shim as every simulated world has it: what it knows of its engine and keeps beyond the life
// of a supervisor. A world adds when things happen, and what its shim does by itself.
//
// Source: the shim's rules in docs/architecture.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/lifecycle.hpp"

namespace lastcall::simulation {

using lifecycle::Instant;

struct ShimModel {
  std::string boot;
  bool run = true;  // the supervisor is its child
  bool alive = false;
  bool connected = false;
  lifecycle::EngineState engine = lifecycle::EngineState::waiting;
  lifecycle::EngineExit exit;
  std::optional<Instant> engine_gone_at;
  std::optional<std::uint32_t> rest;  // of its processes, after the main one
  bool ordered = false;               // a signal by the supervisor
  std::optional<Instant> stop_at;     // the first stop signal that it held
  std::string blob;

  lifecycle::ShimHello hello() const;
  void hold_stop(Instant now);
  /// Whether the order takes effect: not twice, and not after a stop signal.
  bool start_engine();
  void end_engine(lifecycle::EngineExit how, Instant now);
};

}  // namespace lastcall::simulation
