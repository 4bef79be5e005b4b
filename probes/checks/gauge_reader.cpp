#include "probes/checks/gauge_reader.hpp"

#include <algorithm>
#include <utility>

#include "probes/checks/engine_answers.hpp"
#include "probes/checks/prometheus_text.hpp"
#include "probes/checks/text_attempt.hpp"

namespace lastcall::probes {

namespace asio = boost::asio;

namespace {

/// A series that Prometheus' client library exports for a single process, but not for several.
constexpr char const* kOneProcess = "process_start_time_seconds";
constexpr std::size_t kMostLoad = 4 * 1024;

std::vector<std::string> names_of(GaugeSettings const& settings) {
  std::vector<std::string> names{kOneProcess};
  for (std::string const* name :
       {&settings.running, &settings.waiting, &settings.tokens, &settings.kv_usage}) {
    if (!name->empty()) {
      names.push_back(*name);
    }
  }
  return names;
}

}  // namespace

struct GaugeReader::State {
  GaugeSettings settings;
  HttpUrl url;
  HttpUrl load_url;
  std::string load_text;
  std::optional<PrometheusText> text;  // the reading under way

  GaugeReading reading() const {
    GaugeReading reading;
    auto const running = text->sum(settings.running);
    auto const waiting =
        settings.waiting.empty() ? std::optional(0.0) : text->sum(settings.waiting);
    if (running && waiting) {
      reading.in_flight = whole(*running + *waiting);
      reading.load = settings.running_is_load ? reading.in_flight : std::nullopt;
    } else {
      reading.problem =
          "the metrics have no value of " + (running ? settings.waiting : settings.running);
    }
    if (auto const tokens = text->sum(settings.tokens)) {
      reading.tokens = whole(*tokens);
    }
    // vLLM with several API servers shows no gauge of a rank before its first step.
    reading.ranks = text->values(settings.running);
    for (std::string const& rank : text->values(settings.tokens)) {
      if (std::find(reading.ranks.begin(), reading.ranks.end(), rank) == reading.ranks.end()) {
        reading.ranks.push_back(rank);
      }
    }
    reading.kv_usage = text->least(settings.kv_usage);
    if (auto const used = text->sum(settings.kv_usage)) {
      reading.cache = whole(*used * 1e6);
    }
    return reading;
  }
};

GaugeReader::GaugeReader(asio::any_io_executor executor, GaugeSettings settings)
    : state_(std::make_shared<State>()) {
  state_->settings = std::move(settings);
  problem_ = parse_http_url(state_->settings.url, state_->url);
  check_ = std::make_unique<AttemptCheck>(
      [executor, state = state_,
       hangs = std::make_shared<bool>(false)](CheckDone done) -> std::shared_ptr<ConnectAttempt> {
        return std::make_shared<TextAttempt>(
            executor, state->url, Headers{{"Accept", "text/plain"}}, hangs,
            [&text = state->text](std::string_view, std::string_view piece) { text->take(piece); },
            std::move(done));
      });
  if (!state_->settings.load_url.empty() && problem_.empty()) {
    problem_ = parse_http_url(state_->settings.load_url, state_->load_url);
    load_check_ = std::make_unique<AttemptCheck>(
        [executor, state = state_,
         hangs = std::make_shared<bool>(false)](CheckDone done) -> std::shared_ptr<ConnectAttempt> {
          return std::make_shared<TextAttempt>(
              executor, state->load_url, Headers{}, hangs,
              [&text = state->load_text](std::string_view, std::string_view piece) {
                text += piece.substr(0, kMostLoad - std::min(kMostLoad, text.size()));
              },
              std::move(done));
        });
  }
}

GaugeReader::~GaugeReader() = default;

void GaugeReader::read(Duration timeout, Done done) {
  state_->text.emplace(names_of(state_->settings), state_->settings.rank_label);
  check_->start(timeout, [this, timeout, state = state_,
                          done = std::move(done)](CheckOutcome const& outcome) {
    bool const is_read = outcome.result == CheckResult::passed;
    state->text->finish();
    if (!is_read) {
      done(GaugeReading{.problem = outcome.detail});
    } else if (load_check_ && state->text->sum(kOneProcess)) {
      read_load(state->reading(), timeout, done);
    } else {
      done(state->reading());
    }
  });
}

void GaugeReader::read_load(GaugeReading reading, Duration timeout, Done done) {
  state_->load_text.clear();
  load_check_->start(timeout, [state = state_, reading = std::move(reading),
                               done = std::move(done)](CheckOutcome const& outcome) mutable {
    if (outcome.result == CheckResult::passed) {
      reading.load = load_in(state->load_text);
    }
    done(reading);
  });
}

void GaugeReader::cancel() {
  check_->cancel();
  if (load_check_) {
    load_check_->cancel();
  }
}

}  // namespace lastcall::probes
