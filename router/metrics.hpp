// The router's metrics: those of Dynamo's frontend under Dynamo's names, and its own.
//
// Rules:
//  1. A label of a model is the name of a model that a worker has announced, or "unknown": a client
//     cannot create series.
//  2. A request is counted once, at its end, however many workers it was sent to.
//  3. The series of a worker are removed when it leaves.
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

/// Why a request left a worker before its client had received anything.
enum class Failover : std::uint8_t { refused, unreachable, broken, timed_out, stalled };
std::string_view name(Failover why);

/// Why an answer has to continue at another worker.
enum class Moving : std::uint8_t { planned, failure, stall };
/// `reason` is one of continuation::Received or of router/seam.hpp.
Moving moving_for(std::string_view reason);
std::string_view name(Moving kind);

enum class Moved : std::uint8_t {
  continued,  // the client has received the next worker's first event
  finished,   // nothing was left to be sent
  refused,    // it must not, or cannot, continue: no worker was asked
  failed,     // workers were asked, and none continued it
  cancelled,  // its client disconnected meanwhile
};

class Metrics {
 public:
  using Duration = std::chrono::steady_clock::duration;
  struct Finished {
    std::string_view model;
    std::string_view endpoint;
    bool is_stream = false;
    std::string_view error_type;  // Dynamo's name for it; empty if it succeeded
    Duration took{};
  };

  Metrics();
  ~Metrics();

  void began(std::string_view model);
  /// The request is no longer queued, because the first byte of its answer or its end has arrived.
  void taken(std::string_view model);
  void first_byte(std::string_view model, Duration took);
  void event_gap(std::string_view model, Duration took);
  void client_left(std::string_view model, std::string_view endpoint, bool is_stream);
  void finished(Finished const& finished);
  void failed_over(Failover why);
  /// Counts an answer that had to leave its worker; `why_not` is empty if it continues.
  void migrated(std::string_view model, std::string_view reason, std::string_view why_not);
  /// The request is sent to another worker before the first byte.
  void asked_another(std::string_view model);
  /// The result of an attempt to continue elsewhere.
  void moved(Moving kind, Moved outcome);
  /// The time between the client's last event from one worker and its first event from the next.
  void paused(Moving kind, Duration took);
  void waiting(std::size_t requests);
  /// The size of all records in bytes, and the number of records dropped so far.
  void records(std::size_t bytes, std::uint64_t dropped);
  void workers(std::size_t known, std::size_t left);
  /// A worker was probed.
  void probed(bool has_answered);
  /// The number of workers that continue an endpoint's answers in this way: `text`, `vllm_ids`,
  /// `sglang_ids`, `none`, `unknown`.
  void workers_that_go_on(std::string_view endpoint, std::string_view by, std::size_t count);
  void source_failed(std::string_view source, bool is_failing);
  void refused(std::string_view reason);
  /// A change of thresholds was refused because of its token. Called on any thread.
  void threshold_refused();
  /// The request was refused because of load, by the router or by the last worker.
  void rejected(std::string_view model, std::string_view endpoint);
  void worker_load(std::string_view url, ReportedLoad const& load);
  /// Removes the series of a worker.
  void worker_left(std::string_view url);
  void connections(std::size_t clients, std::size_t upstream);

  /// The metrics in Prometheus' text format.
  std::string text() const;

 private:
  struct Series;
  std::unique_ptr<Series> series_;
};

}  // namespace lastcall::router
