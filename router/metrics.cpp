#include "router/metrics.hpp"

#include <array>
#include <map>
#include <type_traits>
#include <utility>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace lastcall::router {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using Buckets = Histogram::BucketBoundaries;

Buckets const kDurations{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,   2.5,
                         5,     10,   20,    30,   60,  120,  300, 600, 1800};
Buckets const kGaps{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};

constexpr std::array<std::string_view, 4> kFailovers{"refused", "unreachable", "broken",
                                                     "timed_out"};

double seconds(Metrics::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string text_of(std::string_view label) {
  return std::string(label.empty() ? "unknown" : label);
}

}  // namespace

std::string_view name(Failover why) {
  return kFailovers[static_cast<std::size_t>(why)];
}

struct Metrics::Series {
  template <class Metric>
  Family<Metric>& family(char const* name, char const* help) {
    if constexpr (std::is_same_v<Metric, Counter>) {
      return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
    } else if constexpr (std::is_same_v<Metric, Gauge>) {
      return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
    } else {
      return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
    }
  }

  prometheus::Registry registry;
  Family<Counter>& requests =
      family<Counter>("dynamo_frontend_requests_total", "Requests that have ended, by their end.");
  Family<Gauge>& inflight =
      family<Gauge>("dynamo_frontend_inflight_requests", "Requests that run at present.");
  Family<Histogram>& duration = family<Histogram>("dynamo_frontend_request_duration_seconds",
                                                  "From a request's head to its end.");
  Family<Histogram>& to_first =
      family<Histogram>("dynamo_frontend_time_to_first_token_seconds",
                        "From a request's head to the first byte of its answer's body.");
  Family<Histogram>& gaps = family<Histogram>("dynamo_frontend_inter_token_latency_seconds",
                                              "Between two reads that ended events of a stream.");
  Family<Counter>& left = family<Counter>("dynamo_frontend_disconnected_clients_total",
                                          "Clients that left before their answer was whole.");
  Family<Counter>& failovers =
      family<Counter>("lastcall_router_failovers_total",
                      "Workers that were given up for a request whose client had nothing yet.");
  Family<Counter>& migrations = family<Counter>(
      "lastcall_router_migrations_total",
      "Workers that failed in an answer, by why, and by why no other was asked to go on.");
  Family<Counter>& dynamo_migrations =
      family<Counter>("dynamo_frontend_model_migration_total",
                      "Answers that another worker was asked to go on with.");
  Family<Counter>& refusals =
      family<Counter>("lastcall_router_refused_total", "What the router itself refused.");
  Family<Gauge>& workers = family<Gauge>("lastcall_router_workers", "Workers that are known.");
  Family<Counter>& gone = family<Counter>("lastcall_router_workers_left_total",
                                          "Workers that have left their registry.");
  Family<Gauge>& failing =
      family<Gauge>("lastcall_router_source_failing",
                    "1: a source of workers cannot be read, and what it said last holds.");
  Family<Gauge>& open = family<Gauge>("lastcall_router_connections", "Connections, by their side.");
};

Metrics::Metrics() : series_(std::make_unique<Series>()) {}

Metrics::~Metrics() = default;

void Metrics::began(std::string_view model) {
  series_->inflight.Add({{"model", text_of(model)}}).Increment();
}

void Metrics::first_byte(std::string_view model, Duration took) {
  series_->to_first.Add({{"model", text_of(model)}}, kDurations).Observe(seconds(took));
}

void Metrics::event_gap(std::string_view model, Duration took) {
  series_->gaps.Add({{"model", text_of(model)}}, kGaps).Observe(seconds(took));
}

void Metrics::client_left(std::string_view model) {
  series_->left.Add({{"model", text_of(model)}}).Increment();
}

void Metrics::finished(Finished const& finished) {
  std::string const model = text_of(finished.model);
  series_->inflight.Add({{"model", model}}).Decrement();
  series_->duration.Add({{"model", model}}, kDurations).Observe(seconds(finished.took));
  series_->requests
      .Add({{"model", model},
            {"endpoint", std::string(finished.endpoint)},
            {"request_type", finished.is_stream ? "stream" : "unary"},
            {"status", finished.error_type.empty() ? "success" : "error"},
            {"error_type", std::string(finished.error_type)}})
      .Increment();
}

void Metrics::failed_over(Failover why) {
  series_->failovers.Add({{"reason", std::string(name(why))}}).Increment();
}

void Metrics::migrated(std::string_view model, std::string_view reason, std::string_view why_not) {
  series_->migrations.Add({{"reason", std::string(reason)}, {"why_not", std::string(why_not)}})
      .Increment();
  if (why_not.empty()) {
    series_->dynamo_migrations
        .Add({{"model", text_of(model)}, {"migration_type", "ongoing_request"}})
        .Increment();
  }
}

void Metrics::workers(std::size_t known, std::size_t left) {
  series_->workers.Add({}).Set(static_cast<double>(known));
  series_->gone.Add({}).Increment(static_cast<double>(left));
}

void Metrics::source_failed(std::string_view source, bool is_failing) {
  series_->failing.Add({{"source", std::string(source)}}).Set(is_failing ? 1 : 0);
}

void Metrics::refused(std::string_view reason) {
  series_->refusals.Add({{"reason", std::string(reason)}}).Increment();
}

void Metrics::connections(std::size_t clients, std::size_t upstream) {
  series_->open.Add({{"side", "client"}}).Set(static_cast<double>(clients));
  series_->open.Add({{"side", "worker"}}).Set(static_cast<double>(upstream));
}

std::string Metrics::text() const {
  return prometheus::TextSerializer().Serialize(series_->registry.Collect());
}

}  // namespace lastcall::router
