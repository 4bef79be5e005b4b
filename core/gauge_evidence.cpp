#include "core/gauge_evidence.hpp"

#include <algorithm>

namespace lastcall::lifecycle {
namespace {

std::uint64_t others(std::uint64_t figure, std::uint64_t own) {
  return figure - std::min(figure, own);
}

/// Keeps the figure that was read. Returns true if it differs from the one before.
bool changes(std::optional<std::uint64_t>& known, std::optional<std::uint64_t> read) {
  bool const moved = read && known && *read != *known;
  known = read ? read : known;
  return moved;
}

}  // namespace

bool GaugeEvidence::read(Instant now, GaugesRead const& reading, std::uint64_t own) {
  bool const generated = changes(tokens_, reading.tokens);
  bool const moved = changes(cache_, reading.cache) || generated;
  misses_own_token_ =
      reading.tokens && tokens_before_own_ && *reading.tokens == *tokens_before_own_;
  load_counts_ = load_counts_ || reading.load.value_or(0) > 0;
  std::uint64_t const load =
      load_counts_ ? others(reading.load.value_or(0), own) : std::uint64_t{0};
  load_is_zero_ = load_counts_ && reading.load && load == 0;
  in_flight_ = reading.in_flight ? std::optional(others(*reading.in_flight, own)) : std::nullopt;
  if (load > in_flight_.value_or(0)) {
    in_flight_ = load;
  }
  last_figure_ = in_flight_.value_or(last_figure_);
  shows_work_ = reading.tokens.has_value() && in_flight_.value_or(0) > 0;
  if (in_flight_ != 0U) {
    zero_since_.reset();
    settled_ = false;
    if (in_flight_) {
      busy_at_ = now;
    }
    return moved;
  }
  if (moved && own > 0) {  // perhaps the engine works for others
    busy_at_ = now;
  }
  if (!zero_since_) {
    zero_since_ = now;
  } else if (refresh_ && now - *zero_since_ >= *refresh_) {
    settled_ = true;
  }
  return moved;
}

void GaugeEvidence::restart_silence(Instant now) {
  if (busy_at_ && in_flight_.value_or(0) > 0) {
    busy_at_ = now;
  }
}

void GaugeEvidence::forget() {
  in_flight_.reset();
  zero_since_.reset();
  busy_at_.reset();
  last_figure_ = 0;
  settled_ = load_is_zero_ = shows_work_ = false;
}

}  // namespace lastcall::lifecycle
