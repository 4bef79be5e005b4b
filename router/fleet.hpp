// The known workers, and the choice of one for a request.
//
// Rules:
//  1. A worker is identified by its URL. It is known as long as at least one source names it. A
//     worker that has left gets no new requests; the requests that it is serving continue.
//  2. Two workers are drawn at random, and the one with fewer requests is chosen (power of two
//     choices). Only workers of the model that have not yet received the request are drawn. The
//     count includes this router's requests in flight, and those of others as the worker last
//     reported. A request with an affinity key goes to the first worker in the key's order that has
//     room.
//  3. A worker that refused, was unreachable, or broke off a response, is skipped for a time that
//     doubles with each failure, until the worker answers again. If all are skipped, the one whose
//     skip time ends first is chosen, because a request is never refused because of another
//     request's failure.
//  4. A worker is busy while all of its ranks are above a threshold (core/load_monitor.hpp); a
//     worker that is known only by an engine's gauges is busy only while it has a request of this
//     router, because the gauges of an idle engine may not move. Busy workers get a request only
//     if there is no other worker. If all workers of a model are busy, new requests are refused.
//  5. An answer that waits asks a worker that has failed at most once in kBetweenTrials, in turn
//     with all others that wait: thousands of them would otherwise do nothing but ask dead workers.
//  6. An answer that continues goes to a worker that can accept it; among the workers with room, to
//     one that can continue it best.
//
// Pure: time and random numbers are arguments. No thread rule.
// Source: Mitzenmacher, 'The Power of Two Choices in Randomized Load Balancing'.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/load_monitor.hpp"
#include "router/affinity.hpp"
#include "router/continuation/bodies.hpp"
#include "router/keyed_workers.hpp"
#include "router/load_questions.hpp"
#include "router/load_text.hpp"
#include "router/worker_index.hpp"

namespace lastcall::router {

using Time = std::chrono::milliseconds;

/// The time between two attempts of answers that wait at a worker that has failed.
inline constexpr Time kBetweenTrials{100};

/// A source's report about one worker.
struct Announced {
  std::string url;    // "http://10.0.0.7:8000"
  std::string model;  // empty: any model
  friend bool operator==(Announced const&, Announced const&) = default;
};

/// Why a worker has not reported its load.
enum class NoLoad : std::uint8_t {
  silent,   // it did not answer in time
  refused,  // no process listens there
  unclear,  // any other reason
};

/// How well a request fits a worker; greater is better.
enum class Fit : std::uint8_t { no, perhaps, yes, best };

class Worker {
 public:
  Worker(std::uint64_t id, Announced announced)
      : id_(id), announced_(std::move(announced)), place_(stable_hash(announced_.url)) {}

  std::uint64_t id() const { return id_; }  // an id is never used again
  std::string const& url() const { return announced_.url; }
  std::string const& model() const { return announced_.model; }
  bool serves(std::string_view model) const { return model_is_any() || announced_.model == model; }
  bool model_is_any() const { return announced_.model.empty(); }
  std::size_t in_flight() const { return in_flight_; }
  bool has_left() const { return has_left_; }
  /// Whether it has failed, and has not answered since.
  bool is_failing() const { return failures_.in_a_row > 0; }
  /// Whether it has not answered for so long that it should get no more questions
  /// (load_questions.hpp).
  bool is_mute(Time time) const { return questions_.is_unanswered_for(time); }
  Time skipped_until() const { return failures_.skipped_until; }
  /// An answer that continues is being sent to it.
  void note_trial(Time now) { failures_.tried_at = now; }
  bool is_busy(Time now) const;
  /// The number of its requests, from this router and from others.
  std::uint64_t load(Time now) const;
  /// The next time at which skipped_until(), is_busy() or load() changes without an event, as far
  /// as that is known now.
  std::optional<Time> changes_at(Time now) const;
  /// Whether it last reported that it has no prompt cache; false if that is unknown.
  bool keeps_no_prompts() const { return report_.keeps_no_prompts; }
  /// A hash of its URL, which determines its position in the order of a key.
  std::uint64_t place() const { return place_; }
  /// What the worker can do at that endpoint, as probes have shown; absent if it is unknown.
  std::optional<continuation::Mode> found(continuation::Endpoint endpoint) const {
    return found_[static_cast<std::size_t>(endpoint)];
  }

 private:
  friend class Fleet;

  std::uint64_t const id_;
  Announced announced_;
  std::uint64_t const place_;
  std::uint64_t named_in_ = 0;  // the last call of set() in which a source named it
  std::size_t source_ = 0;      // the first source that named it in that call, which decides
  std::size_t in_flight_ = 0;
  struct Failures {
    std::uint32_t in_a_row = 0;
    Time skipped_until{};
    Time tried_at{};  // when an answer that continues was last sent to it
  };
  Failures failures_;
  bool has_left_ = false;
  lifecycle::LoadMonitor ranks_;
  LoadQuestions questions_;
  struct Report {
    Time at{};
    std::uint64_t others = 0;  // requests that did not come from this router
    bool by_gauges = false;    // its ranks are known only by an engine's gauges
    bool keeps_no_prompts = false;
  };
  Report report_;                                           // the last one
  std::array<std::optional<continuation::Mode>, 3> found_;  // by endpoint
};

/// A source that names another model for a worker than the source that decides.
struct ModelConflict {
  std::string url;
  std::size_t source = 0;  // the number of the source that decides
  std::string model;
  std::size_t other = 0;  // the number of the source that does not count
  std::string other_model;
  friend auto operator<=>(ModelConflict const&, ModelConflict const&) = default;
};

class Fleet {
 public:
  using Draw = std::function<std::uint64_t()>;
  struct Skips {
    Time first{1'000};
    Time most{30'000};
  };
  struct News {
    std::vector<std::shared_ptr<Worker>> came;
    std::vector<std::shared_ptr<Worker>> left;
    std::vector<ModelConflict> conflicts;  // all that exist now
  };

  Fleet(Skips skips, Draw draw) : skips_(skips), draw_(std::move(draw)) {}

  /// Replaces the workers that `source` names.
  News set(std::size_t source, std::vector<Announced> const& workers);

  struct Wanted {
    std::string_view model;
    std::optional<std::uint64_t> affinity = std::nullopt;  // its affinity key (affinity.hpp)
    std::function<Fit(Worker const&)> fit = nullptr;       // empty: every worker fits equally
    bool waits = false;  // it waits: workers that have failed take turns (kBetweenTrials)
  };
  /// Absent if every suitable worker has already received the request (`tried`: their ids).
  std::shared_ptr<Worker> choose(Wanted const& wanted, std::span<std::uint64_t const> tried,
                                 Time now) const;
  std::shared_ptr<Worker> choose(std::string_view model, std::span<std::uint64_t const> tried,
                                 Time now) const {
    return choose({.model = model}, tried, now);
  }
  void began(Worker& worker) {
    ++worker.in_flight_;
    note_change(worker);
  }
  void ended(Worker& worker) {
    --worker.in_flight_;
    worker.questions_.request_ended();
    note_change(worker);
  }
  void failed(Worker& worker, Time now);
  void answered(Worker& worker);
  /// A load question is being sent to the worker now; reported() or reported_nothing() ends it.
  void asked(Worker& worker, Time now) { worker.questions_.asked(now, worker.in_flight_ > 0); }
  void reported(Worker& worker, ReportedLoad const& load, Time now);
  void reported_nothing(Worker& worker, NoLoad why, Time now);
  void limit(Worker& worker, lifecycle::LoadThresholds const& thresholds);
  void found(Worker& worker, continuation::Endpoint endpoint, continuation::Mode mode);
  /// The reason why new requests of a model are refused: the excess of one of its workers if all of
  /// them are busy, otherwise absent.
  std::optional<lifecycle::LoadExcess> busy(std::string_view model, Time now) const;

  bool knows(std::string_view model) const { return !views().index.of(model).empty(); }
  /// Whether a worker has named this model.
  bool announces(std::string_view model) const { return views().index.announces(model); }
  /// All named models, each once and in order.
  std::vector<std::string> const& models() const { return views().index.models(); }
  std::vector<std::shared_ptr<Worker>> const& workers() const { return workers_; }

 private:
  /// Indexes of the workers, in the orders in which they are searched.
  struct Views {
    KeyedWorkers& keyed(KeyedWorkers::Workers const& workers) {
      if (!by_key) {
        by_key.emplace(workers, index);
      }
      return *by_key;
    }
    WorkerIndex index;
    std::optional<KeyedWorkers> by_key;
  };
  Views& views() const;
  std::shared_ptr<Worker> drawn(Wanted const& wanted, std::span<std::uint64_t const> tried,
                                Time now) const;
  void note_change(Worker const& worker) {
    if (views_ && views_->by_key) {
      views_->by_key->changed(worker);
    }
  }
  std::shared_ptr<Worker> const& less_loaded(std::vector<std::size_t> const& at, Time now) const;

  Skips const skips_;
  Draw const draw_;
  std::map<std::size_t, std::vector<Announced>> sources_;
  std::vector<std::shared_ptr<Worker>> workers_;
  mutable std::optional<Views> views_;  // indexes of workers_, built when they are needed
  std::unordered_map<std::string_view, Worker*> by_url_;  // its keys are views into workers_
  std::uint64_t last_id_ = 0;
  std::uint64_t last_news_ = 0;
};

}  // namespace lastcall::router
