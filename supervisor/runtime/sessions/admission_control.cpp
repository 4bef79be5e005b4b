#include "supervisor/runtime/sessions/admission_control.hpp"

#include <nlohmann/json.hpp>

namespace lastcall::runtime {
namespace {

using Json = nlohmann::ordered_json;

template <typename Limits, typename T>
void take_changed(Limits& now, Limits const& before, Limits const& after, T Limits::*value) {
  if (before.*value != after.*value) {
    now.*value = after.*value;
  }
}

template <typename T>
Json json_of(std::optional<T> const& value) {
  return value ? Json(*value) : Json();
}

Json share_json(std::optional<std::uint32_t> const& ppm) {
  return ppm ? Json(*ppm / lifecycle::kMillionths) : Json();
}

}  // namespace

lifecycle::AdmissionLimits changed(lifecycle::AdmissionLimits limits,
                                   ipc::AdmissionSet const& change) {
  take_over(limits.running, change.engine_request_limit);
  std::optional<std::uint32_t> waiting = limits.waiting;
  take_over(waiting, change.queue_limit);
  limits.waiting = waiting.value_or(lifecycle::AdmissionLimits{}.waiting);
  std::optional<std::int64_t> timeout =
      limits.wait_timeout ? std::optional(limits.wait_timeout->count()) : std::nullopt;
  take_over(timeout, change.queue_timeout_ms);
  limits.wait_timeout = timeout ? std::optional(lifecycle::Duration{*timeout}) : std::nullopt;
  take_over(limits.first_byte, change.engine_wait_limit);
  return limits;
}

lifecycle::AdmissionLimits reloaded(lifecycle::AdmissionLimits now,
                                    lifecycle::AdmissionLimits const& before,
                                    lifecycle::AdmissionLimits const& after) {
  using Limits = lifecycle::AdmissionLimits;
  take_changed(now, before, after, &Limits::running);
  take_changed(now, before, after, &Limits::waiting);
  take_changed(now, before, after, &Limits::wait_timeout);
  take_changed(now, before, after, &Limits::first_byte);
  take_changed(now, before, after, &Limits::priorities);
  return now;
}

lifecycle::LoadThresholds reloaded(lifecycle::LoadThresholds now,
                                   lifecycle::LoadThresholds const& before,
                                   lifecycle::LoadThresholds const& after) {
  using Thresholds = lifecycle::LoadThresholds;
  take_changed(now, before, after, &Thresholds::decode_ppm);
  take_changed(now, before, after, &Thresholds::prefill_tokens);
  take_changed(now, before, after, &Thresholds::max_age);
  take_changed(now, before, after, &Thresholds::ranks);
  return now;
}

lifecycle::LoadThresholds changed(lifecycle::LoadThresholds thresholds,
                                  ipc::ThresholdsSet const& change) {
  using Share = ipc::Change<double>;
  Share const& share = change.active_decode_blocks_threshold;
  take_over(thresholds.decode_ppm,
            Share{share.kind, static_cast<double>(lifecycle::millionths(share.value))});
  take_over(thresholds.prefill_tokens, change.active_prefill_tokens_threshold);
  return thresholds;
}

Json admission_json(lifecycle::AdmissionState const& state) {
  auto const& [limits, thresholds, running, waiting, without_first_byte, busy] = state;
  Json json{{"running", running},
            {"waiting", waiting},
            {"without_first_byte", without_first_byte},
            {"engine_request_limit", json_of(limits.running)},
            {"queue_limit", limits.waiting},
            {"engine_wait_limit", json_of(limits.first_byte)},
            {"queue_timeout_ms", Json()},
            {"busy", busy},
            {"active_decode_blocks_threshold", share_json(thresholds.decode_ppm)},
            {"active_prefill_tokens_threshold", json_of(thresholds.prefill_tokens)}};
  if (limits.wait_timeout) {
    json["queue_timeout_ms"] = limits.wait_timeout->count();
  }
  return json;
}

}  // namespace lastcall::runtime
