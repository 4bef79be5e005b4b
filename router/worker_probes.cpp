#include "router/worker_probes.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "config/text.hpp"
#include "probes/checks/engine_answers.hpp"
#include "router/continuation/worker_probe.hpp"
#include "router/own_question.hpp"
#include "router/parts.hpp"

namespace lastcall::router {
namespace {

using continuation::Endpoint;
using continuation::Mode;

/// The size in bytes of a stream of one token, or of a list of models.
constexpr std::size_t kLongestProbeAnswer = std::size_t{512} * 1024;
constexpr unsigned kAnswered = 200;

/// The questions, in the order in which they are asked.
enum class Stage : std::uint8_t { models, completions, chat };

std::string_view word_for(std::optional<Mode> mode) {
  constexpr std::array<std::string_view, 4> kWords{"none", "text", "vllm_ids", "sglang_ids"};
  return mode ? kWords[static_cast<std::size_t>(*mode)] : "unknown";
}

constexpr bool is_no_entry(unsigned status) {
  return status == 401 || status == 403;
}

}  // namespace

/// One worker, which waits for its turn, is being asked, or is known.
class WorkerProbes::Asking final : public std::enable_shared_from_this<Asking> {
 public:
  Asking(WorkerProbes& owner, std::shared_ptr<Worker> worker)
      : owner_(owner),
        worker_(std::move(worker)),
        question_(owner.parts_, kLongestProbeAnswer),
        timer_(owner.io_) {}

  std::shared_ptr<Worker> const& worker() const { return worker_; }
  bool is_due() const { return state_ == State::due; }
  bool is_running() const { return state_ == State::running; }
  unsigned no_entry() const { return no_entry_; }
  /// The number of probes in a row, up to the last one, that it did not answer completely.
  unsigned failures() const { return failures_; }
  /// Called when the worker waits for its turn.
  void wait_for_turn() { state_ = State::due; }
  void begin();
  /// What is known about the worker may no longer be true.
  void doubt();
  /// Asks the worker at once, unless it is being asked already.
  void retry();

 private:
  enum class State : std::uint8_t { idle, due, running, waiting };

  void ask_in(std::chrono::milliseconds wait);
  void ask(std::string_view path, std::string body);
  void ask_next();
  void answered(WholeAnswer const& answer);
  void note_models(WholeAnswer const& answer);
  void note(Endpoint endpoint);
  void finish();

  WorkerProbes& owner_;
  std::shared_ptr<Worker> const worker_;
  OwnQuestion question_;
  boost::asio::steady_timer timer_;
  State state_ = State::idle;
  Stage stage_ = Stage::models;
  std::string model_;    // the model that is named in the questions
  std::string made_by_;  // the owner of the first model that it lists: "vllm"
  std::optional<continuation::WorkerProbe> probe_;
  std::optional<Mode> of_completions_;
  std::optional<Mode> of_chat_;
  unsigned failures_ = 0;  // in a row
  unsigned no_entry_ = 0;  // status of an answer that required another key, or any key
};

void WorkerProbes::Asking::begin() {
  state_ = State::running;
  stage_ = Stage::models;
  model_.clear();
  made_by_.clear();
  no_entry_ = 0;
  of_completions_ = of_chat_ = std::nullopt;
  ask("/v1/models", {});
}

void WorkerProbes::Asking::ask(std::string_view path, std::string body) {
  std::string const id = "lastcall-probe-" + owner_.parts_.ids.make();
  std::string head = body.empty() ? "GET " : "POST ";
  head.append(path).append(" HTTP/1.1\r\nHost: ");
  if (std::optional<config::Url> const url = config::parse_url(worker_->url())) {
    head.append(config::to_text(url->address));
  }
  // X-Lastcall-Parent marks it behind an ingress, which does not pass X-Lastcall-Probe on.
  head.append("\r\nContent-Type: application/json\r\nX-Lastcall-Probe: 1\r\n");
  head.append(owner_.key_.lines(owner_.parts_.settings.migration.key_file));
  head.append("X-Lastcall-Parent: router/").append(id);
  head.append("\r\nX-Request-Id: ").append(id).append("\r\n");
  question_.ask(worker_, {.head = std::move(head), .body = std::move(body)}, kPatience,
                [this](WholeAnswer const& answer) { answered(answer); });
}

void WorkerProbes::Asking::answered(WholeAnswer const& answer) {
  if (stage_ == Stage::models) {
    note_models(answer);
  } else {
    probe_->answered(answer.status(), answer.body());
    no_entry_ = is_no_entry(answer.status()) ? answer.status() : no_entry_;
  }
  if (answer.status() == 0) {
    finish();  // it would not answer any other question either
  } else {
    ask_next();
  }
}

void WorkerProbes::Asking::note_models(WholeAnswer const& answer) {
  probes::ListedModel const listed =
      answer.status() == kAnswered ? probes::first_model(answer.body()) : probes::ListedModel{};
  made_by_ = listed.owner;
  model_ = worker_->model_is_any() ? listed.id.value_or("") : worker_->model();
  stage_ = Stage::completions;
  probe_.emplace(Endpoint::completions, model_);
}

void WorkerProbes::Asking::ask_next() {
  bool const is_chat = stage_ == Stage::chat;
  if (std::optional<std::string> body = probe_->next()) {
    ask(is_chat ? "/v1/chat/completions" : "/v1/completions", std::move(*body));
    return;
  }
  note(is_chat ? Endpoint::chat : Endpoint::completions);
  if (is_chat) {
    finish();
    return;
  }
  continuation::TokenIds const reported = probe_->reported();
  stage_ = Stage::chat;
  probe_.emplace(Endpoint::chat, model_, reported);
  ask_next();
}

void WorkerProbes::Asking::note(Endpoint endpoint) {
  if (!probe_->has_failed()) {
    (endpoint == Endpoint::chat ? of_chat_ : of_completions_) = probe_->mode();
  }
}

void WorkerProbes::Asking::finish() {
  Fleet& fleet = owner_.parts_.fleet;
  if (of_completions_) {
    bool const is_vllm = of_chat_ == Mode::ids_vllm || made_by_ == "vllm";
    fleet.found(*worker_, Endpoint::completions,
                continuation::mode_of_completions(*of_completions_, is_vllm));
  }
  if (of_chat_) {
    fleet.found(*worker_, Endpoint::chat, *of_chat_);
  }
  if (of_completions_ && of_chat_) {
    failures_ = 0;
    state_ = State::idle;
  } else {
    constexpr unsigned kMostWaits = 6;  // after so many doublings the wait is above the longest
    auto const wait = std::min<std::chrono::milliseconds>(
        kFirstWait * (1U << std::min(failures_++, kMostWaits)), kLongestWait);
    ask_in(wait);
  }
  owner_.ended(*this);
}

void WorkerProbes::Asking::ask_in(std::chrono::milliseconds wait) {
  // Routers that have started together must not ask in step.
  auto const part = static_cast<std::uint64_t>(wait.count()) / 4;
  auto const more = std::chrono::milliseconds(owner_.parts_.ids.draw() % (part + 1));
  state_ = State::waiting;
  timer_.expires_after(wait + more);
  // The handler of an expired timer runs even if the worker has left in the meantime.
  timer_.async_wait([still = weak_from_this()](boost::system::error_code const& error) {
    auto const one = still.lock();
    if (one && !error && one->state_ == State::waiting) {
      one->owner_.enqueue(*one);
    }
  });
}

void WorkerProbes::Asking::doubt() {
  if (state_ == State::idle) {
    ask_in(kFirstWait);
  }
}

void WorkerProbes::Asking::retry() {
  if (state_ == State::idle) {
    owner_.enqueue(*this);
  }
}

// --- all of them ---------------------------------------------------------------------------------

WorkerProbes::WorkerProbes(boost::asio::io_context& io, Parts& parts)
    : io_(io), parts_(parts), key_(parts.log) {}

WorkerProbes::~WorkerProbes() = default;

void WorkerProbes::configure() {
  if (parts_.settings.migration.by == MigrateBy::probe) {
    for (auto const& [id, asking] : known_) {
      bool const is_known =
          asking->worker()->found(Endpoint::chat) && asking->worker()->found(Endpoint::completions);
      if (!is_known) {
        asking->retry();
      }
    }
  }
}

void WorkerProbes::follow(std::shared_ptr<Worker> const& worker) {
  auto const [at, is_new] = known_.emplace(worker->id(), std::make_shared<Asking>(*this, worker));
  if (is_new && parts_.settings.migration.by == MigrateBy::probe) {
    enqueue(*at->second);
  }
  count();
}

void WorkerProbes::forget(Worker const& worker) {
  auto const found = known_.find(worker.id());
  if (found == known_.end()) {
    return;
  }
  bool const was_running = found->second->is_running();
  known_.erase(found);
  running_ -= was_running ? 1 : 0;
  count();
  if (report_) {
    report_(worker.url(), "");
  }
  begin_next();
}

void WorkerProbes::doubt(Worker const& worker) {
  auto const found = known_.find(worker.id());
  if (found != known_.end() && parts_.settings.migration.by == MigrateBy::probe) {
    found->second->doubt();
  }
}

void WorkerProbes::enqueue(Asking& asking) {
  asking.wait_for_turn();
  queue_.push_back(asking.worker()->id());
  begin_next();
}

void WorkerProbes::begin_next() {
  while (running_ < kMostAtOnce && !queue_.empty()) {
    auto const found = known_.find(queue_.front());
    queue_.pop_front();
    if (found != known_.end() && found->second->is_due()) {
      ++running_;
      found->second->begin();
    }
  }
}

void WorkerProbes::ended(Asking& asking) {
  --running_;
  Worker const& worker = *asking.worker();
  std::string_view const chat = word_for(worker.found(Endpoint::chat));
  std::string_view const completions = word_for(worker.found(Endpoint::completions));
  std::string line = "chat " + std::string(chat) + ", completions " + std::string(completions);
  if (asking.no_entry() != 0) {
    line += ", it answers " + std::to_string(asking.no_entry());
  }
  bool const is_answered = asking.failures() == 0;
  parts_.metrics.probed(is_answered);
  if (is_answered) {
    parts_.log.info("a worker was probed",
                    {{"worker", worker.url()}, {"chat", chat}, {"completions", completions}});
  } else if (asking.no_entry() != 0 && asking.failures() == 1) {
    parts_.log.warning("a worker requires a key for probes (migration.key_file)",
                       {{"worker", worker.url()}, {"status", asking.no_entry()}});
  } else {
    parts_.log.debug("a worker could not be probed, and will be probed again",
                     {{"worker", worker.url()}, {"chat", chat}, {"completions", completions}});
  }
  if (report_) {
    report_(worker.url(), line);
  }
  count();
  begin_next();
}

/// Counts the workers of each kind.
void WorkerProbes::count() const {
  if (parts_.settings.migration.by != MigrateBy::probe) {
    return;
  }
  for (Endpoint const endpoint : {Endpoint::chat, Endpoint::completions}) {
    std::array<std::size_t, 5> counts{};
    constexpr std::array<std::optional<Mode>, 5> kKinds{std::nullopt, Mode::none, Mode::text,
                                                        Mode::ids_vllm, Mode::ids_sglang};
    for (auto const& [id, asking] : known_) {
      auto const at = std::find(kKinds.begin(), kKinds.end(), asking->worker()->found(endpoint));
      ++counts[static_cast<std::size_t>(at - kKinds.begin())];
    }
    for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
      parts_.metrics.workers_that_go_on(continuation::name_of(endpoint), word_for(kKinds[kind]),
                                        counts[kind]);
    }
  }
}

}  // namespace lastcall::router
