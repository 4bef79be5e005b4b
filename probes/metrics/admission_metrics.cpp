#include "probes/metrics/admission_metrics.hpp"

#include <limits>
#include <string>

#include "probes/metrics/metric_buckets.hpp"
#include "probes/metrics/metric_series.hpp"

namespace lastcall::probes {

AdmissionMetrics::AdmissionMetrics(MetricRegistry& registry)
    : engine_request_(
          registry.level("dynamo_engine_request", "", "Requests admitted to the engine")),
      request_queue_(
          registry.level("dynamo_request_queue", "", "Requests that wait for admission")),
      limit_(
          registry.gauge("lastcall_admission_limit", "kind",
                         "Largest number of requests that may run or wait; +Inf while unlimited")),
      wait_(registry.histogram("lastcall_admission_wait_seconds", "",
                               "How long admitted requests had waited")),
      busy_(registry.gauge("lastcall_busy", "", "1 while load thresholds are exceeded")),
      frontend_decode_blocks_(registry.gauge(
          "dynamo_frontend_worker_active_decode_blocks", "worker_id dp_rank",
          "KV cache blocks in use, as the rank last reported; NaN while it does not")),
      frontend_prefill_tokens_(
          registry.gauge("dynamo_frontend_worker_active_prefill_tokens", "worker_id dp_rank",
                         "Tokens in prefill, as the rank last reported; NaN while it does not")),
      decode_blocks_(registry.gauge(
          "lastcall_rank_active_decode_blocks", "dp_rank",
          "KV cache blocks in use, as the rank last reported; NaN while it does not")),
      total_blocks_(registry.gauge(
          "lastcall_rank_kv_total_blocks", "dp_rank",
          "KV cache blocks in total, as the rank last reported; NaN while it does not")),
      prefill_tokens_(
          registry.gauge("lastcall_rank_active_prefill_tokens", "dp_rank",
                         "Tokens in prefill, as the rank last reported; NaN while it does not")) {}

void AdmissionMetrics::set_requests(std::size_t running, std::size_t waiting) {
  engine_request_.set(running);
  request_queue_.set(waiting);
}

void AdmissionMetrics::set_limits(std::optional<std::uint32_t> running, std::uint32_t waiting) {
  constexpr double kUnlimited = std::numeric_limits<double>::infinity();
  limit_.at({"running"}).Set(running ? *running : kUnlimited);
  limit_.at({"waiting"}).Set(waiting);
}

void AdmissionMetrics::waited(Seconds took) {
  wait_.at({}, kFast).Observe(took.count());
}

void AdmissionMetrics::set_busy(bool busy) {
  busy_.at({}).Set(busy ? 1 : 0);
}

void AdmissionMetrics::set_rank_load(std::uint32_t rank,
                                     std::optional<std::uint64_t> active_decode_blocks,
                                     std::optional<std::uint64_t> kv_total_blocks,
                                     std::optional<std::uint64_t> active_prefill_tokens) {
  std::string const label = std::to_string(rank);
  auto const set = [&label](auto& gauge, std::optional<std::uint64_t> figure) {
    gauge.at({label}).Set(figure ? static_cast<double>(*figure)
                                 : std::numeric_limits<double>::quiet_NaN());
  };
  set(frontend_decode_blocks_, active_decode_blocks);
  set(frontend_prefill_tokens_, active_prefill_tokens);
  set(decode_blocks_, active_decode_blocks);
  set(total_blocks_, kv_total_blocks);
  set(prefill_tokens_, active_prefill_tokens);
}

}  // namespace lastcall::probes
