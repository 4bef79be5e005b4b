#include "supervisor/lifecycle/gauge_evidence.hpp"

namespace lastcall::lifecycle {

bool GaugeEvidence::read(Instant now, GaugesRead const& reading) {
  bool const moved = reading.tokens && tokens_ && *reading.tokens != *tokens_;
  if (reading.tokens) {
    tokens_ = reading.tokens;
  }
  in_flight_ = reading.in_flight;
  shows_work_ = reading.tokens.has_value() && reading.in_flight.value_or(0) > 0;
  if (reading.in_flight != 0U) {
    zero_since_.reset();
    idle_ = false;
    if (reading.in_flight) {
      busy_at_ = now;
    }
    return moved;
  }
  if (!zero_since_) {
    zero_since_ = now;
  } else if (refresh_ && now - *zero_since_ >= *refresh_) {
    idle_ = true;
  }
  return moved;
}

void GaugeEvidence::listen_anew(Instant now) {
  if (busy_at_ && in_flight_.value_or(0) > 0) {
    busy_at_ = now;
  }
}

void GaugeEvidence::forget() {
  in_flight_.reset();
  zero_since_.reset();
  busy_at_.reset();
  idle_ = shows_work_ = false;
}

}  // namespace lastcall::lifecycle
