// An error of the engine that its client is not told yet: it may be the engine's death.
//
// Rules:
//  1. It is kept until the core cuts its request (the death is confirmed), until every check that
//     began after it has passed, or for Wait::held; then its bytes go on unchanged.
//  2. Meanwhile nothing is read from the engine, so that little more than one read is kept.
//  3. A request has at most one: what comes behind it goes on at once.
//
// Plain state of the exchange. No thread rule. Source: docs/ingress.md, 'An engine that dies'.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "ingress/deadlines.hpp"

namespace lastcall::ingress {

struct HeldError {
  enum class Part : std::uint8_t {
    answer,  // as the engine sent it, from its head on
    events,  // of the body, from the error event on
  };

  HeldError(DeadlineOwner& owner, Part what, std::chrono::milliseconds now)
      : part(what), since(now), until(owner) {}

  Part part;
  std::chrono::milliseconds since;
  std::string bytes;
  std::uint64_t events_before = 0;  // that the client has
  bool is_last = false;             // the response ends with these bytes
  Deadline until;
};

}  // namespace lastcall::ingress
