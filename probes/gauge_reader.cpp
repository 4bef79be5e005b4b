#include "probes/gauge_reader.hpp"

#include <cmath>
#include <utility>

#include "probes/prometheus_text.hpp"
#include "probes/text_attempt.hpp"

namespace lastcall::probes {

namespace asio = boost::asio;

namespace {

std::vector<std::string> names_of(GaugeSettings const& settings) {
  std::vector<std::string> names;
  for (std::string const* name :
       {&settings.running, &settings.waiting, &settings.tokens, &settings.kv_usage}) {
    if (!name->empty()) {
      names.push_back(*name);
    }
  }
  return names;
}

/// More than nothing is never rounded to nothing.
std::uint64_t whole(double figure) {
  return static_cast<std::uint64_t>(std::ceil(std::min(figure, 1e15)));
}

}  // namespace

struct GaugeReader::State {
  GaugeSettings settings;
  HttpUrl url;
  std::optional<PrometheusText> text;  // of the reading under way

  GaugeReading reading() const {
    GaugeReading reading;
    auto const running = text->sum(settings.running);
    auto const waiting =
        settings.waiting.empty() ? std::optional(0.0) : text->sum(settings.waiting);
    if (running && waiting) {
      reading.in_flight = whole(*running + *waiting);
    } else {
      reading.problem = "no figure of " + (running ? settings.waiting : settings.running);
    }
    if (auto const tokens = text->sum(settings.tokens)) {
      reading.tokens = whole(*tokens);
    }
    reading.kv_usage = text->least(settings.kv_usage);
    return reading;
  }
};

GaugeReader::GaugeReader(asio::any_io_executor executor, GaugeSettings settings)
    : state_(std::make_shared<State>()) {
  state_->settings = std::move(settings);
  problem_ = parse_http_url(state_->settings.url, state_->url);
  check_ = std::make_unique<AttemptCheck>(
      [executor = std::move(executor), state = state_,
       hangs = std::make_shared<bool>(false)](CheckDone done) -> std::shared_ptr<ConnectAttempt> {
        return std::make_shared<TextAttempt>(
            executor, state->url, Headers{{"Accept", "text/plain"}}, hangs,
            [&text = state->text](std::string_view, std::string_view piece) { text->take(piece); },
            std::move(done));
      });
}

GaugeReader::~GaugeReader() = default;

void GaugeReader::read(Duration timeout, Done done) {
  state_->text.emplace(names_of(state_->settings));
  check_->start(timeout, [state = state_, done = std::move(done)](CheckOutcome const& outcome) {
    bool const is_read = outcome.result == CheckResult::passed;
    state->text->finish();
    done(is_read ? state->reading() : GaugeReading{.problem = outcome.detail});
  });
}

void GaugeReader::cancel() {
  check_->cancel();
}

}  // namespace lastcall::probes
