// Where our own restart beside a shim stands: the engine stays, our registrations and our ingress
// go.
//
// Stages only rise; `next` is when time alone ends the present one. Pure values, no thread rule.
// Source: section 2 of the design, 'Causes of a stop'.
#pragma once

#include <cstdint>

#include "core/instant.hpp"

namespace lastcall::lifecycle {

struct OwnRestart {
  enum class Stage : std::uint8_t {
    announced,      // the shim may still report a signal, which makes it a stop
    deregistering,  // until all registries have confirmed
    accepting,      // late requests of the ingress are served
    refusing,       // those that run may end
    stopping,       // they were asked to
    killing,        // they were cut off
  };
  Stage stage = Stage::announced;
  Instant next;
  Instant signalled_at;

  void enter(Stage stage_now, Instant until) {
    stage = stage_now;
    next = until;
  }
  bool refuses() const { return stage >= Stage::refusing; }
};

}  // namespace lastcall::lifecycle
