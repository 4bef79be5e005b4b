#include "router/metrics.hpp"

#include <array>
#include <map>
#include <utility>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "router/families.hpp"
#include "router/model_series.hpp"

namespace lastcall::router {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

constexpr std::array<std::string_view, 5> kFailovers{"refused", "unreachable", "broken",
                                                     "timed_out", "stalled"};

constexpr std::array<std::string_view, 3> kKinds{"planned", "failure", "stall"};
constexpr std::array<std::string_view, 5> kOutcomes{"continued", "finished", "refused", "failed",
                                                    "cancelled"};

/// For example "10.0.0.7:8000".
std::string worker_id_of(std::string_view url) {
  std::size_t const at = url.find("://");
  return std::string(at == std::string_view::npos ? url : url.substr(at + 3));
}

/// Gauges by worker and rank.
class RankGauges {
 public:
  using Values = std::map<std::string, double>;  // by rank; "" is for the worker as a whole

  explicit RankGauges(Family<Gauge>& family) : family_(family) {}

  /// Sets these values, and removes the gauges that are no longer reported.
  void set(std::string const& worker, Values const& values) {
    auto& gauges = gauges_[worker];
    std::erase_if(gauges, [&](auto const& each) {
      bool const is_gone = !values.contains(each.first);
      if (is_gone) {
        family_.Remove(each.second);
      }
      return is_gone;
    });
    for (auto const& [rank, value] : values) {
      Gauge*& gauge = gauges[rank];
      if (gauge == nullptr) {
        prometheus::Labels labels{{"worker_id", worker}};
        if (!rank.empty()) {
          labels.emplace("dp_rank", rank);
        }
        gauge = &family_.Add(labels);
      }
      gauge->Set(value);
    }
    if (gauges.empty()) {
      gauges_.erase(worker);
    }
  }

 private:
  Family<Gauge>& family_;
  std::map<std::string, std::map<std::string, Gauge*>> gauges_;
};

/// The figures that workers report about their load.
struct TheirGauges {
  RankGauges blocks;
  RankGauges tokens;
  RankGauges usage;
  RankGauges requests;
};

}  // namespace

std::string_view name(Failover why) {
  return kFailovers[static_cast<std::size_t>(why)];
}

Moving moving_for(std::string_view reason) {
  if (reason == "migrated" || reason == "hand_off") {
    return Moving::planned;
  }
  return reason == "stall" || reason == "gone" ? Moving::stall : Moving::failure;
}

std::string_view name(Moving kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

struct Metrics::Series {
  template <class Metric>
  Family<Metric>& family(char const* name, char const* help) {
    return router::family<Metric>(name, help, registry);
  }

  prometheus::Registry registry;
  ModelSeries by_model{registry};
  Family<Counter>& left = family<Counter>("dynamo_frontend_disconnected_clients_total",
                                          "Clients that disconnected before their answer was "
                                          "complete.");
  Gauge& disconnected = family<Gauge>("dynamo_frontend_disconnected_clients",
                                      "Clients that disconnected before their answer was "
                                      "complete.")
                            .Add({});
  Family<Counter>& cancellations =
      family<Counter>("dynamo_frontend_model_cancellation_total",
                      "Requests whose client disconnected before their answer was complete.");
  Family<Counter>& moves = family<Counter>(
      "lastcall_router_moves_total", "Answers that had to continue at another worker, by outcome.");
  Family<Histogram>& pauses = family<Histogram>(
      "lastcall_router_pause_seconds",
      "Time between the last event of one worker and the first of the next, as the client "
      "receives them.");
  Gauge& waiting =
      family<Gauge>("lastcall_router_waiting", "Requests that wait for a worker.").Add({});
  Family<Counter>& failovers =
      family<Counter>("lastcall_router_failovers_total",
                      "Workers that were replaced before the first byte of their answer.");
  Family<Counter>& migrations = family<Counter>(
      "lastcall_router_migrations_total",
      "Workers that failed during an answer, by cause, and by the reason why no other continued "
      "it.");
  Family<Counter>& dynamo_migrations =
      family<Counter>("dynamo_frontend_model_migration_total",
                      "Requests and answers that were given to another worker.");
  Family<Counter>& refusals =
      family<Counter>("lastcall_router_refused_total", "Requests that the router itself refused.");
  Counter& thresholds_refused =
      family<Counter>("lastcall_router_threshold_calls_refused_total",
                      "Calls of /busy_threshold that were refused because of their token.")
          .Add({});
  Family<Counter>& rejections =
      family<Counter>("dynamo_frontend_model_rejection_total",
                      "Requests that were refused because all workers were busy.");
  TheirGauges theirs{
      .blocks = RankGauges(family<Gauge>("dynamo_frontend_worker_active_decode_blocks",
                                         "KV cache blocks in use, as a worker last reported.")),
      .tokens = RankGauges(family<Gauge>("dynamo_frontend_worker_active_prefill_tokens",
                                         "Tokens in prefill, as a worker last reported.")),
      .usage =
          RankGauges(family<Gauge>("lastcall_router_worker_kv_used_ratio",
                                   "Share of the KV cache in use, as a worker last reported.")),
      .requests = RankGauges(family<Gauge>("lastcall_router_worker_requests",
                                           "Requests of a worker, as it last reported."))};
  Gauge& record_bytes = family<Gauge>("lastcall_router_record_bytes",
                                      "Memory of the records from which answers could continue "
                                      "at another worker.")
                            .Add({});
  Counter& records_dropped =
      family<Counter>("lastcall_router_records_dropped_total",
                      "Answers that can no longer continue at another worker, for lack of memory.")
          .Add({});
  Family<Gauge>& workers = family<Gauge>("lastcall_router_workers", "Workers that are known.");
  Family<Counter>& probes =
      family<Counter>("lastcall_router_probes_total", "Probes of what a worker can do.");
  Family<Gauge>& go_on =
      family<Gauge>("lastcall_router_workers_going_on",
                    "Workers by the form of continuation that they accept, as probes have shown.");
  Family<Counter>& gone = family<Counter>("lastcall_router_workers_left_total",
                                          "Workers that have left their registry.");
  Family<Gauge>& failing =
      family<Gauge>("lastcall_router_source_failing",
                    "1 while a source of workers cannot be read and its last known workers are "
                    "used.");
  Family<Gauge>& open = family<Gauge>("lastcall_router_connections", "Connections, by side.");
};

Metrics::Metrics() : series_(std::make_unique<Series>()) {}

Metrics::~Metrics() = default;

void Metrics::began(std::string_view model) {
  series_->by_model.began(model);
}

void Metrics::taken(std::string_view model) {
  series_->by_model.taken(model);
}

void Metrics::first_byte(std::string_view model, Duration took) {
  series_->by_model.first_byte(model, took);
}

void Metrics::event_gap(std::string_view model, Duration took) {
  series_->by_model.event_gap(model, took);
}

void Metrics::client_left(std::string_view model, std::string_view endpoint, bool is_stream) {
  series_->left.Add({{"model", label_of(model)}}).Increment();
  series_->disconnected.Increment();
  series_->cancellations
      .Add({{"model", label_of(model)},
            {"endpoint", std::string(endpoint)},
            {"request_type", is_stream ? "stream" : "unary"}})
      .Increment();
}

void Metrics::finished(Finished const& finished) {
  series_->by_model.ended(finished.model,
                          {.endpoint = finished.endpoint,
                           .is_stream = finished.is_stream,
                           .error_type = finished.error_type},
                          finished.took);
}

void Metrics::failed_over(Failover why) {
  series_->failovers.Add({{"reason", std::string(name(why))}}).Increment();
}

void Metrics::migrated(std::string_view model, std::string_view reason, std::string_view why_not) {
  series_->migrations.Add({{"reason", std::string(reason)}, {"why_not", std::string(why_not)}})
      .Increment();
  if (why_not.empty()) {
    series_->dynamo_migrations
        .Add({{"model", label_of(model)}, {"migration_type", "ongoing_request"}})
        .Increment();
  }
}

void Metrics::asked_another(std::string_view model) {
  series_->dynamo_migrations.Add({{"model", label_of(model)}, {"migration_type", "new_request"}})
      .Increment();
}

void Metrics::moved(Moving kind, Moved outcome) {
  series_->moves
      .Add({{"kind", std::string(name(kind))},
            {"outcome", std::string(kOutcomes[static_cast<std::size_t>(outcome)])}})
      .Increment();
}

void Metrics::paused(Moving kind, Duration took) {
  series_->pauses.Add({{"kind", std::string(name(kind))}}, kGaps).Observe(seconds(took));
}

void Metrics::waiting(std::size_t requests) {
  series_->waiting.Set(static_cast<double>(requests));
}

void Metrics::records(std::size_t bytes, std::uint64_t dropped) {
  series_->record_bytes.Set(static_cast<double>(bytes));
  series_->records_dropped.Increment(static_cast<double>(dropped) -
                                     series_->records_dropped.Value());
}

void Metrics::workers(std::size_t known, std::size_t left) {
  series_->workers.Add({}).Set(static_cast<double>(known));
  series_->gone.Add({}).Increment(static_cast<double>(left));
}

void Metrics::probed(bool has_answered) {
  series_->probes.Add({{"outcome", has_answered ? "answered" : "failed"}}).Increment();
}

void Metrics::workers_that_go_on(std::string_view endpoint, std::string_view by,
                                 std::size_t count) {
  series_->go_on.Add({{"endpoint", std::string(endpoint)}, {"by", std::string(by)}})
      .Set(static_cast<double>(count));
}

void Metrics::source_failed(std::string_view source, bool is_failing) {
  series_->failing.Add({{"source", std::string(source)}}).Set(is_failing ? 1 : 0);
}

void Metrics::threshold_refused() {
  series_->thresholds_refused.Increment();
}

void Metrics::refused(std::string_view reason) {
  series_->refusals.Add({{"reason", std::string(reason)}}).Increment();
}

void Metrics::rejected(std::string_view model, std::string_view endpoint) {
  series_->rejections.Add({{"model", label_of(model)}, {"endpoint", std::string(endpoint)}})
      .Increment();
}

void Metrics::worker_load(std::string_view url, ReportedLoad const& load) {
  RankGauges::Values blocks;
  RankGauges::Values tokens;
  RankGauges::Values usage;
  RankGauges::Values requests;
  for (RankLoad const& rank : load.ranks) {
    std::string const number = std::to_string(rank.rank);
    if (rank.kv_usage) {
      usage[number] = *rank.kv_usage;
    }
    if (rank.active_decode_blocks) {
      blocks[number] = static_cast<double>(*rank.active_decode_blocks);
    }
    if (rank.active_decode_blocks && rank.kv_total_blocks.value_or(0) > 0) {
      usage[number] = blocks[number] / static_cast<double>(*rank.kv_total_blocks);
    }
    if (rank.active_prefill_tokens) {
      tokens[number] = static_cast<double>(*rank.active_prefill_tokens);
    }
  }
  if (load.requests) {
    requests[""] = static_cast<double>(*load.requests);
  }
  std::string const worker = worker_id_of(url);
  series_->theirs.blocks.set(worker, blocks);
  series_->theirs.tokens.set(worker, tokens);
  series_->theirs.usage.set(worker, usage);
  series_->theirs.requests.set(worker, requests);
}

void Metrics::worker_left(std::string_view url) {
  worker_load(url, {});
}

void Metrics::connections(std::size_t clients, std::size_t upstream) {
  series_->open.Add({{"side", "client"}}).Set(static_cast<double>(clients));
  series_->open.Add({{"side", "worker"}}).Set(static_cast<double>(upstream));
}

std::string Metrics::text() const {
  return prometheus::TextSerializer().Serialize(series_->registry.Collect());
}

}  // namespace lastcall::router
