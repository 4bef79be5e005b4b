#include "probes/metrics/metrics_relay.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <random>
#include <string_view>
#include <utility>

#include "probes/metrics/exposition.hpp"

namespace lastcall::probes {
namespace {

constexpr std::string_view kOwnPath = "/metrics";
constexpr std::string_view kEnginePath = "/metrics/engine";
constexpr char const* kText = "text/plain; version=0.0.4; charset=utf-8";
constexpr char const* kMark = "X-Lastcall-Scrape";
constexpr int kLoopDetected = 508;
constexpr char const* kLoop = "engine.metrics.url is the URL of lastcall's own listener";

std::string random_mark() {
  std::random_device random;
  return std::to_string(random()) + std::to_string(random());
}

Reply failure(int status, std::string const& why) {
  return Reply{.status = status, .body = why + "\n"};
}

/// The formats that we accept from the engine for a merged text: either one, without compression
/// and with the escaping of the old formats.
char const* accept_for_merge(Request const& request) {
  return names_openmetrics(request.header("Accept"))
             ? "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
             : "text/plain;version=0.0.4";
}

bool is_text(std::string_view content_type) {
  return content_type.empty() || content_type.starts_with("text/plain");
}

}  // namespace

MetricsRelay::MetricsRelay(MetricsRelaySettings settings, std::function<std::string()> own_text,
                           std::function<void(bool)> report_up)
    : settings_(std::move(settings)),
      own_text_(std::move(own_text)),
      report_up_(std::move(report_up)),
      mark_(random_mark()),
      engine_(settings_.engine_url.empty() ? nullptr
                                           : std::make_unique<EngineText>(settings_.engine_url)) {}

MetricsRelay::~MetricsRelay() {
  engine_.reset();
}

bool MetricsRelay::answer(Request const& request, Responder const& responder) {
  bool const is_engine = request.path == kEnginePath;
  bool const is_merge = request.path == kOwnPath && settings_.merge && engine_;
  bool const is_read = request.method == "GET" || request.method == "HEAD";
  if (!is_read || !(is_engine || request.path == kOwnPath)) {
    return false;
  }
  Origin const origin = origin_of(request);
  if (origin == Origin::ourselves || (origin == Origin::another && is_engine)) {
    responder.send(failure(kLoopDetected, kLoop));
    return true;
  }
  if (is_engine) {
    relay(request, responder);
  } else if (is_merge && origin == Origin::scraper) {
    merge(request, responder);
  } else if (is_merge) {
    std::lock_guard const lock(mutex_);
    responder.send(Reply{.body = own_text_(), .content_type = kText});
  } else {
    return false;
  }
  return true;
}

MetricsRelay::Origin MetricsRelay::origin_of(Request const& request) const {
  std::string_view const mark = request.header(kMark);
  return mark.empty() ? Origin::scraper : mark == mark_ ? Origin::ourselves : Origin::another;
}

/// A little less than the time that the scraper waits, if it announces that.
Duration MetricsRelay::bound(Request const& request) const {
  constexpr Duration kShortest{50};
  std::string_view const text = request.header("X-Prometheus-Scrape-Timeout-Seconds");
  double seconds = 0;
  auto const read = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (read.ec != std::errc{} || !(seconds > 0 && seconds < 3'600)) {
    return settings_.timeout;
  }
  Duration const scraper{static_cast<Duration::rep>(seconds * 900)};
  return std::max(kShortest, std::min(settings_.timeout, scraper));
}

void MetricsRelay::relay(Request const& request, Responder const& responder) {
  if (!engine_) {
    responder.send(failure(404,
                           "no metrics of the engine are known: expected engine.kind or "
                           "engine.metrics.url in the configuration"));
    return;
  }
  std::string accept(request.header("Accept"));
  Headers headers{{kMark, mark_}};
  if (!accept.empty()) {
    headers.emplace_back("Accept", std::move(accept));
  }
  engine_->fetch(std::move(headers), bound(request), [responder](EngineText::Answer answer) {
    if (answer.problem.empty()) {
      responder.send(
          Reply{.body = std::move(answer.text), .content_type = std::move(answer.content_type)});
    } else {
      bool const is_loop = answer.problem == "status 508";
      responder.send(failure(answer.is_late ? 504 : 502, "cannot read the engine's metrics: " +
                                                             (is_loop ? kLoop : answer.problem)));
    }
  });
}

void MetricsRelay::merge(Request const& request, Responder const& responder) {
  engine_->fetch(
      {{kMark, mark_}, {"Accept", accept_for_merge(request)}}, bound(request),
      [this, responder](EngineText::Answer const& answer) { responder.send(merged(answer)); });
}

Reply MetricsRelay::merged(EngineText::Answer const& answer) {
  std::lock_guard const lock(mutex_);
  std::string problem = answer.problem == "status 508" ? kLoop : answer.problem;
  bool const is_openmetrics = names_openmetrics(answer.content_type);
  if (problem.empty() && !is_openmetrics && !is_text(answer.content_type)) {
    problem = "its type is " + answer.content_type + ", expected Prometheus' text format";
  }
  if (problem.empty()) {
    report_up_(true);
    if (auto both = merge_expositions(own_text_(), answer.text, is_openmetrics)) {
      return Reply{.body = std::move(*both),
                   .content_type = is_openmetrics ? answer.content_type : kText};
    }
    problem = "it is not in Prometheus' text format";
  }
  report_up_(false);
  std::replace(problem.begin(), problem.end(), '\n', ' ');
  return Reply{.body = own_text_() + "# no metrics of the engine: " + problem + "\n",
               .content_type = kText};
}

}  // namespace lastcall::probes
