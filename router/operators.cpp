#include "router/operators.hpp"

#include <utility>
#include <variant>

#include "base/clock.hpp"

namespace lastcall::router {
namespace {

constexpr int kFine = 200;
constexpr int kNoSuchPath = 404;
constexpr int kOnlyGet = 405;
constexpr int kNotReady = 503;

probes::Reply plain(int status, char const* body) {
  return {.status = status, .body = body};
}

}  // namespace

Operators::Operators(config::Address const& address, Metrics& metrics, Rejection const& rejection,
                     telemetry::Log& log, ThresholdHandler on_threshold)
    : metrics_(metrics),
      token_(rejection.http_token),
      on_threshold_(std::move(on_threshold)),
      refused_(log, "a call of /busy_threshold was refused because of its token"),
      listener_({.host = address.host,
                 .port = address.port,
                 .thread_name = "operators",
                 .max_body = rejection.http_api ? probes::kMostBusyThresholdBody : 0,
                 .callers = rejection.http_token ? probes::CallerFacts::address
                                                 : probes::CallerFacts::none},
                [this, has_thresholds = rejection.http_api](probes::Request const& request,
                                                            probes::Responder const& responder) {
                  if (has_thresholds && request.path == probes::kBusyThresholdPath) {
                    ask_threshold(request, responder);
                  } else {
                    responder.send(answer(request));
                  }
                }) {}

void Operators::ask_threshold(probes::Request const& request, probes::Responder const& responder) {
  probes::ThresholdCall call = probes::read_threshold_call(request, token_);
  if (auto* refusal = std::get_if<probes::Reply>(&call)) {
    if (probes::is_for_want_of_token(*refusal)) {
      metrics_.threshold_refused();
      refused_.report({.caller = request.caller.address, .status = refusal->status},
                      monotonic_now());
    }
    responder.send(std::move(*refusal));
  } else {
    on_threshold_(std::move(call), responder);
  }
}

void Operators::know_troubled(std::string lines) {
  std::lock_guard const lock(mutex_);
  troubled_ = std::move(lines);
}

void Operators::know_worker(std::string const& url, std::string const& line) {
  std::lock_guard const lock(mutex_);
  if (line.empty()) {
    workers_.erase(url);
  } else {
    workers_[url] = line;
  }
}

probes::Reply Operators::answer(probes::Request const& request) const {
  if (request.method != "GET" && request.method != "HEAD") {
    return plain(kOnlyGet, "only GET is allowed here\n");
  }
  if (request.path == "/livez") {
    return plain(kFine, "ok\n");
  }
  if (request.path == "/readyz") {
    if (is_ending_) {
      return plain(kNotReady, "the router is shutting down\n");
    }
    probes::Reply reply =
        has_workers_ ? plain(kFine, "ok\n") : plain(kNotReady, "no worker is known\n");
    if (request.has_query("verbose")) {
      std::lock_guard const lock(mutex_);
      reply.body += troubled_;
      for (auto const& [url, line] : workers_) {
        reply.body.append("worker ").append(url).append(": ").append(line).append("\n");
      }
    }
    return reply;
  }
  if (request.path == "/metrics") {
    return {.body = metrics_.text(), .content_type = "text/plain; version=0.0.4; charset=utf-8"};
  }
  return plain(kNoSuchPath, "not found\n");
}

}  // namespace lastcall::router
