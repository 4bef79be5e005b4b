#include "supervisor/runtime/ingress/ingress_reports.hpp"

#include <string>
#include <utility>

#include "base/clock.hpp"
#include "supervisor/runtime/ingress/ingress_decisions.hpp"

namespace lastcall::runtime {
namespace {

/// The shortest time between two log lines that an unknown client can cause.
constexpr lifecycle::Duration kStrangersPeriod{10'000};

}  // namespace

IngressReports::IngressReports(config::Admission const& admission, EventSink& events,
                               probes::Metrics& metrics, telemetry::Log& log, Listeners listeners)
    : admission_(admission),
      events_(events),
      metrics_(metrics),
      log_(log),
      listeners_(std::move(listeners)),
      refused_control_(kStrangersPeriod),
      failed_greeting_(kStrangersPeriod) {}

ingress::Admission IngressReports::begin(ingress::Begun const& begun) {
  lifecycle::Event const event = lifecycle::RequestBegun{.peer = lifecycle::kIngressPeer,
                                                         .id = std::string(begun.id),
                                                         .root = {},
                                                         .parent = std::string(begun.parent),
                                                         .endpoint = std::string(begun.endpoint),
                                                         .model = std::string(begun.model),
                                                         .stream = begun.streaming,
                                                         .admit = true,
                                                         .resumed = false,
                                                         .priority = begun.priority,
                                                         .way = begun.way};
  StepReply const& reply = events_.feed(event);
  ingress::Admission answer{ingress::Admission::Kind::waits, {}};
  if (reply.refusal || reply.is_over) {
    answer = {
        ingress::Admission::Kind::refused,
        relay::rejected_because(lifecycle::RejectedReason::draining, std::chrono::seconds(1))};
  } else if (reply.rejected) {
    answer = {ingress::Admission::Kind::refused, refusal_of(*reply.rejected, admission_)};
  } else if (reply.is_admitted) {
    answer.kind = ingress::Admission::Kind::admitted;
  }
  if (answer.kind != ingress::Admission::Kind::refused) {
    metrics_.requests().began(begun.endpoint);
    listeners_.request_began();
  }
  return answer;
}

void IngressReports::moved(std::string_view id) {
  lifecycle::Instant const now = monotonic_now();
  if (now - reported_progress_ >= ingress::kProgressPeriod) {
    reported_progress_ = now;
    events_.feed(lifecycle::RequestProgressed{lifecycle::kIngressPeer, {std::string(id)}});
  }
}

void IngressReports::client_gone(std::string_view id, lifecycle::CancelMode mode) {
  events_.feed(lifecycle::CancelRequested{.by = lifecycle::kIngressPeer,
                                          .ids = {std::string(id)},
                                          .root = {},
                                          .mode = mode,
                                          .reason = lifecycle::CancelReason::client_disconnect});
}

void IngressReports::ended(std::string_view id, lifecycle::Outcome outcome) {
  events_.feed(lifecycle::RequestEnded{lifecycle::kIngressPeer, std::string(id), outcome});
}

void IngressReports::handed_off(ingress::HandedOff const& handed) {
  log_.info("request handed off", {{"id", handed.id},
                                   {"endpoint", handed.endpoint},
                                   {"model", handed.model},
                                   {"reason", handed.reason},
                                   {"events_sent", handed.events},
                                   {"bytes_sent", handed.bytes}});
  listeners_.handed_off(handed);
}

/// Admission limits the requests that wait for their first byte, so each first byte is reported to
/// the core.
void IngressReports::first_byte(std::string_view id, std::string_view endpoint,
                                std::string_view model, std::chrono::milliseconds took) {
  if (!model.empty()) {
    metrics_.model_served(model);
  }
  reported_progress_ = monotonic_now();
  lifecycle::RequestProgressed progressed{lifecycle::kIngressPeer, {}};
  progressed.ids.emplace_back(id);
  events_.feed(std::move(progressed));
  metrics_.ingress().first_byte(model, endpoint, took);
}

void IngressReports::event_gap(std::string_view endpoint, std::chrono::milliseconds took) {
  metrics_.ingress().event_gap(endpoint, took);
}

void IngressReports::refused(relay::Refusal const& refusal) {
  metrics_.ingress().refused(refusal.type);
}

void IngressReports::evicted(ingress::Scarce what) {
  metrics_.ingress().evicted(ingress::name(what));
}

void IngressReports::shed(ingress::Scarce what) {
  metrics_.ingress().shed(ingress::name(what));
}

void IngressReports::greeting_failed(ingress::GreetingFailed const& failed) {
  metrics_.ingress().tls_failed(ingress::name(failed.why.kind));
  if (auto const left_out = failed_greeting_.due(monotonic_now())) {
    log_.warning(
        "a client's TLS handshake failed",
        {{"client", failed.address}, {"detail", failed.why.detail}, {"more_before", *left_out}});
  }
}

void IngressReports::control_called(ingress::ControlCall const& call) {
  if (call.rest != relay::Rest::none) {
    bool const begins = call.rest == relay::Rest::begins;
    log_.info(begins ? "the engine was put to sleep: lastcall sends it no requests of its "
                       "own until it has been woken up and has answered a request"
                     : "the engine was woken up");
    events_.feed(lifecycle::EngineRests{begins});
  }
  if (call.is_open) {
    return;
  }
  metrics_.ingress().control_called(call.is_granted);
  if (call.is_granted) {
    log_.info("an operator's request to a control path of the engine",
              {{"method", call.method},
               {"path", call.path},
               {"client", call.address},
               {"by", call.certificate.empty() ? "token" : "certificate"},
               {"certificate", call.certificate}});
    return;
  }
  if (auto const left_out = refused_control_.due(monotonic_now())) {
    log_.warning("a request to a control path of the engine was refused",
                 {{"method", call.method},
                  {"path", call.path},
                  {"client", call.address},
                  {"more_before", *left_out}});
  }
}

void IngressReports::slow_turn(std::string_view kind, std::chrono::steady_clock::duration took) {
  listeners_.slow_turn(kind, took);
}

void IngressReports::connections(std::size_t clients, std::size_t upstream) {
  metrics_.ingress().set_connections(clients, upstream);
}

}  // namespace lastcall::runtime
