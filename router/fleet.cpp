#include "router/fleet.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lastcall::router {
namespace {

constexpr std::uint32_t kMostDoublings = 20;
constexpr lifecycle::PeerId kWorker = 1;
constexpr std::uint64_t kWholeCache = 1'000'000;

Instant instant_of(Time now) {
  return instant_from_ms(now.count());
}

/// Indexes of workers; only those that fit best are kept.
class BestFits {
 public:
  void add(std::size_t at, Fit fit) {
    if (fit > best_) {
      at_.clear();
      best_ = fit;
    }
    if (fit == best_) {
      at_.push_back(at);
    }
  }
  std::vector<std::size_t> const& at() const { return at_; }

 private:
  std::vector<std::size_t> at_;
  Fit best_ = Fit::no;
};

}  // namespace

bool Worker::is_busy(Time now) const {
  return ranks_.is_busy_by_ranks(instant_of(now)) && (in_flight_ > 0 || !report_.by_gauges);
}

std::uint64_t Worker::load(Time now) const {
  return in_flight_ + (report_.at + ranks_.thresholds().max_age >= now ? report_.others : 0);
}

std::optional<Time> Worker::changes_at(Time now) const {
  Time const report_ends = report_.at + ranks_.thresholds().max_age + Time(1);
  bool const is_report = report_ends > now && (report_.others > 0 || !ranks_.ranks().empty());
  std::optional<Time> at = is_report ? std::optional(report_ends) : std::nullopt;
  if (failures_.skipped_until > now) {
    at = std::min(at.value_or(failures_.skipped_until), failures_.skipped_until);
  }
  return at;
}

Fleet::News Fleet::set(std::size_t source, std::vector<Announced> const& workers) {
  sources_[source] = workers;
  ++last_news_;
  News news;
  // Adds a worker unless it exists already. If two sources name the same worker, the first one
  // decides.
  auto const name = [this, &news](std::size_t number,
                                  Announced const& announced) -> std::shared_ptr<Worker> {
    auto const found = by_url_.find(announced.url);
    if (found != by_url_.end()) {
      Worker& worker = *found->second;
      bool const is_another_source = worker.named_in_ == last_news_ && worker.source_ != number;
      if (is_another_source && worker.model() != announced.model) {
        news.conflicts.push_back(
            {worker.url(), worker.source_, worker.model(), number, announced.model});
      }
      if (worker.named_in_ == last_news_) {
        return nullptr;
      }
      if (worker.announced_ == announced) {
        worker.named_in_ = last_news_;
        worker.source_ = number;
        return nullptr;
      }
      by_url_.erase(found);  // its model has changed: it leaves, and comes again
    }
    auto made = std::make_shared<Worker>(++last_id_, announced);
    made->named_in_ = last_news_;
    made->source_ = number;
    by_url_.emplace(made->url(), made.get());
    return made;
  };
  for (auto const& [number, list] : sources_) {
    for (Announced const& each : list) {
      if (std::shared_ptr<Worker> newcomer = name(number, each)) {
        news.came.push_back(std::move(newcomer));
      }
    }
  }
  std::erase_if(workers_, [&](std::shared_ptr<Worker> const& worker) {
    if (worker->named_in_ == last_news_) {
      return false;
    }
    auto const found = by_url_.find(worker->url());
    if (found != by_url_.end() && found->second == worker.get()) {
      by_url_.erase(found);
    }
    worker->has_left_ = true;
    news.left.push_back(worker);
    return true;
  });
  workers_.insert(workers_.end(), news.came.begin(), news.came.end());
  views_.reset();
  return news;
}

std::shared_ptr<Worker> Fleet::choose(Wanted const& wanted, std::span<std::uint64_t const> tried,
                                      Time now) const {
  if (std::shared_ptr<Worker> found = drawn(wanted, tried, now)) {
    return found;
  }
  if (wanted.affinity && !wanted.fit) {
    KeyedWorkers::Wanted const by_key{wanted.model, *wanted.affinity};
    if (auto const place = views().keyed(workers_).first_free(by_key, tried, now)) {
      return workers_[*place];
    }
  }
  std::shared_ptr<Worker> soonest;
  BestFits free;
  BestFits busy;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    std::shared_ptr<Worker> const& worker = workers_[i];
    bool const was_tried = std::find(tried.begin(), tried.end(), worker->id()) != tried.end();
    bool const has_its_turn = !wanted.waits || !worker->is_failing() ||
                              worker->failures_.tried_at + kBetweenTrials <= now;
    if (was_tried || !has_its_turn || !worker->serves(wanted.model)) {
      continue;
    }
    Fit const fit = wanted.fit ? wanted.fit(*worker) : Fit::best;
    if (fit == Fit::no) {
      continue;
    }
    if (worker->failures_.skipped_until <= now) {
      (worker->is_busy(now) ? busy : free).add(i, fit);
    } else if (!soonest || worker->failures_.skipped_until < soonest->failures_.skipped_until) {
      soonest = worker;
    }
  }
  std::vector<std::size_t> const& at = free.at().empty() ? busy.at() : free.at();
  if (at.empty()) {
    return soonest;
  }
  return wanted.affinity
             ? workers_[views().keyed(workers_).first_of({wanted.model, *wanted.affinity}, at, now)]
             : less_loaded(at, now);
}

std::shared_ptr<Worker> const& Fleet::less_loaded(std::vector<std::size_t> const& at,
                                                  Time now) const {
  std::size_t const first = draw_() % at.size();
  std::shared_ptr<Worker> const& one = workers_[at[first]];
  if (at.size() == 1) {
    return one;
  }
  std::size_t const second = (first + 1 + draw_() % (at.size() - 1)) % at.size();
  std::shared_ptr<Worker> const& other = workers_[at[second]];
  return other->load(now) < one->load(now) ? other : one;
}

void Fleet::reported(Worker& worker, ReportedLoad const& load, Time now) {
  // A rank that no longer exists would otherwise stay free for ever.
  worker.ranks_.peer_forgotten(kWorker);
  for (RankLoad const& rank : load.ranks) {
    lifecycle::LoadReported report{.peer = kWorker,
                                   .rank = rank.rank,
                                   .active_decode_blocks = rank.active_decode_blocks,
                                   .kv_total_blocks = rank.kv_total_blocks,
                                   .active_prefill_tokens = rank.active_prefill_tokens};
    if (rank.kv_usage) {
      report.active_decode_blocks = static_cast<std::uint64_t>(
          std::lround(*rank.kv_usage * static_cast<double>(kWholeCache)));
      report.kv_total_blocks = kWholeCache;
    }
    worker.ranks_.report(instant_of(now), report);
  }
  worker.report_.by_gauges = load.by_gauges;
  worker.report_.keeps_no_prompts = load.keeps_no_prompts;
  std::uint64_t const requests = load.requests.value_or(0);
  worker.report_.others = requests - std::min<std::uint64_t>(requests, worker.in_flight_);
  worker.report_.at = now;
  worker.questions_.answered();
  note_change(worker);
}

void Fleet::reported_nothing(Worker& worker, NoLoad why, Time now) {
  switch (why) {
    case NoLoad::silent:
      worker.questions_.not_answered(now);
      return;
    case NoLoad::refused:
      worker.questions_.refused();
      return;
    case NoLoad::unclear:
      worker.questions_.receive();
      return;
  }
}

void Fleet::limit(Worker& worker, lifecycle::LoadThresholds const& thresholds) {
  worker.ranks_.set_thresholds(thresholds);
  note_change(worker);
}

void Fleet::found(Worker& worker, continuation::Endpoint endpoint, continuation::Mode mode) {
  worker.found_[static_cast<std::size_t>(endpoint)] = mode;
}

std::optional<lifecycle::LoadExcess> Fleet::busy(std::string_view model, Time now) const {
  std::shared_ptr<Worker> one;
  for (std::shared_ptr<Worker> const& worker : workers_) {
    if (worker->serves(model)) {
      if (!worker->is_busy(now)) {
        return std::nullopt;
      }
      one = worker;
    }
  }
  return one ? one->ranks_.excess(instant_of(now)) : std::nullopt;
}

void Fleet::failed(Worker& worker, Time now) {
  // Several requests that met the same failure at the same time count as one failure.
  if (worker.failures_.skipped_until > now) {
    return;
  }
  std::uint32_t const doublings = std::min(worker.failures_.in_a_row++, kMostDoublings);
  worker.failures_.skipped_until =
      now + std::min(skips_.first * (std::int64_t{1} << doublings), skips_.most);
  note_change(worker);
}

void Fleet::answered(Worker& worker) {
  worker.failures_.in_a_row = 0;
  worker.failures_.skipped_until = {};
  note_change(worker);
}

Fleet::Views& Fleet::views() const {
  if (!views_) {
    views_.emplace();
    for (auto const& worker : workers_) {
      views_->index.add(worker->model());
    }
  }
  return *views_;
}

/// If there are many workers, two suitable ones are found by drawing, without examining all of
/// them. Returns null if so many drawn workers did not fit that all must be examined.
std::shared_ptr<Worker> Fleet::drawn(Wanted const& wanted, std::span<std::uint64_t const> tried,
                                     Time now) const {
  constexpr std::size_t kMany = 16;
  constexpr int kDraws = 8;
  std::vector<std::size_t> const& at = views().index.of(wanted.model);
  Worker const* first = nullptr;
  std::size_t first_at = 0;
  for (int draws = 0; at.size() >= kMany && !wanted.affinity && !wanted.fit && draws < kDraws;
       ++draws) {
    std::size_t const place = at[draw_() % at.size()];
    Worker const& one = *workers_[place];
    bool const was_tried = std::find(tried.begin(), tried.end(), one.id()) != tried.end();
    if (was_tried || &one == first || one.failures_.skipped_until > now || one.is_busy(now)) {
      continue;
    }
    if (first != nullptr) {
      return workers_[one.load(now) < first->load(now) ? place : first_at];
    }
    first = &one;
    first_at = place;
  }
  return nullptr;
}

}  // namespace lastcall::router
