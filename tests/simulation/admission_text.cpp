// What bounds admission and what makes busy, as words: in settings and in events alike.
#include "tests/simulation/event_text.hpp"

namespace lastcall::simulation {
namespace {

using namespace lifecycle;

template <typename T>
std::optional<T> count_of(Words& words, std::string_view key) {
  auto const number = words.number(key);
  return number ? std::optional(static_cast<T>(*number)) : std::nullopt;
}

}  // namespace

void put_admission(Line& line, AdmissionLimits const& limits) {
  AdmissionLimits const standard;
  line.key("running", signed_of(limits.running));
  if (limits.waiting != standard.waiting) {
    line.key("waiting", std::int64_t{limits.waiting});
  }
  line.key("wait_timeout", limits.wait_timeout).key("first_byte", signed_of(limits.first_byte));
  line.flag("priorities", limits.priorities);
}

AdmissionLimits parse_admission(Words& words) {
  AdmissionLimits limits;
  limits.running = count_of<std::uint32_t>(words, "running");
  limits.waiting = count_of<std::uint32_t>(words, "waiting").value_or(limits.waiting);
  limits.wait_timeout = words.duration("wait_timeout");
  limits.first_byte = count_of<std::uint32_t>(words, "first_byte");
  limits.priorities = words.flag("priorities");
  return limits;
}

void put_load(Line& line, LoadThresholds const& thresholds) {
  LoadThresholds const standard;
  line.key("decode_ppm", signed_of(thresholds.decode_ppm));
  line.key("prefill_tokens", signed_of(thresholds.prefill_tokens));
  if (thresholds.max_age != standard.max_age) {
    line.key("max_age", thresholds.max_age);
  }
}

LoadThresholds parse_load_limits(Words& words) {
  LoadThresholds thresholds;
  thresholds.decode_ppm = count_of<std::uint32_t>(words, "decode_ppm");
  thresholds.prefill_tokens = count_of<std::uint64_t>(words, "prefill_tokens");
  thresholds.max_age = words.duration("max_age").value_or(thresholds.max_age);
  return thresholds;
}

}  // namespace lastcall::simulation
