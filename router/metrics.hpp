// The router's metrics: those of Dynamo's frontend under Dynamo's names, and its own.
//
// Rules:
//  1. A label of a model is the name of a model that a worker has announced, or "unknown": what
//     clients send makes no series.
//  2. A request is counted once, at its end, however many workers it was sent to.
//  3. Series of a worker go when it leaves.
//
// Thread rule: counting on the router's thread, text() on any. Source: docs/router.md, 'Metrics'.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "router/load_text.hpp"

namespace lastcall::router {

/// Why a request left a worker before its client had anything.
enum class Failover : std::uint8_t { refused, unreachable, broken, timed_out, stalled };
std::string_view name(Failover why);

/// Why an answer has to continue at another worker.
enum class Moving : std::uint8_t { planned, failure, stall };
/// `reason`: of continuation::Received, or of router/seam.hpp.
Moving moving_for(std::string_view reason);
std::string_view name(Moving kind);

enum class Moved : std::uint8_t {
  continued,  // the next worker's first event is with the client
  finished,   // nothing was left to be sent
  refused,    // it may not, or cannot, continue
  failed,     // no worker continued it
  cancelled,  // its client disconnected meanwhile
};

class Metrics {
 public:
  using Duration = std::chrono::steady_clock::duration;
  struct Finished {
    std::string_view model;
    std::string_view endpoint;
    bool is_stream = false;
    std::string_view error_type;  // Dynamo's word; empty if it succeeded
    Duration took{};
  };

  Metrics();
  ~Metrics();

  void began(std::string_view model);
  /// It is no longer queued, because the first byte of its answer or its end has come.
  void taken(std::string_view model);
  void first_byte(std::string_view model, Duration took);
  void event_gap(std::string_view model, Duration took);
  void client_left(std::string_view model, std::string_view endpoint, bool is_stream);
  void finished(Finished const& finished);
  void failed_over(Failover why);
  /// `why_not` is empty if it continues.
  void migrated(std::string_view model, std::string_view reason, std::string_view why_not);
  /// The request is sent to another worker before the first byte.
  void asked_another(std::string_view model);
  /// The result of an attempt to continue elsewhere.
  void moved(Moving kind, Moved outcome);
  /// Between the last event of one worker and the first of the next, as the client has them.
  void paused(Moving kind, Duration took);
  void waiting(std::size_t requests);
  /// The bytes of all records, and the number of records that were dropped so far.
  void records(std::size_t bytes, std::uint64_t dropped);
  void workers(std::size_t known, std::size_t left);
  /// A worker was probed.
  void probed(bool has_answered);
  /// The number of workers that continue an endpoint's answers in this way: `text`, `vllm_ids`,
  /// `sglang_ids`, `none`, `unknown`.
  void workers_that_go_on(std::string_view endpoint, std::string_view by, std::size_t count);
  void source_failed(std::string_view source, bool is_failing);
  void refused(std::string_view reason);
  /// A set of thresholds, for its token; on any thread.
  void threshold_refused();
  /// Refused for load, at the router or at the last worker.
  void rejected(std::string_view model, std::string_view endpoint);
  void worker_load(std::string_view url, ReportedLoad const& load);
  /// Removes the series of a worker.
  void worker_left(std::string_view url);
  void connections(std::size_t clients, std::size_t upstream);

  /// Prometheus' text format.
  std::string text() const;

 private:
  struct Series;
  std::unique_ptr<Series> series_;
};

}  // namespace lastcall::router
