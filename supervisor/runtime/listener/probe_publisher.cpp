#include "supervisor/runtime/listener/probe_publisher.hpp"

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.hpp"
#include "config/presets.hpp"
#include "discovery/instance.hpp"
#include "supervisor/runtime/registries/registry_factory.hpp"

namespace lastcall::runtime {
namespace {

using lifecycle::name;

/// Anyone may call the probe port, so it shows no address and no answer of a registry.
constexpr char const* kWhereReported = "it failed; see the log and `lastcall status`";

void put_checks(probes::ProbeState& state, StatusSources const& sources) {
  for (HealthDriver::Row const& row : sources.health.rows()) {
    bool const passed =
        row.last == lifecycle::CheckVerdict::passed || row.last == lifecycle::CheckVerdict::busy;
    state.checks.push_back({.name = row.name,
                            .passed = passed,
                            .detail = row.last ? row.detail : "has not run yet",
                            .latency = row.latency});
  }
}

void put_registries(probes::ProbeState& state, StatusSources const& sources) {
  bool const serving = sources.core.snapshot().phase == lifecycle::Phase::serving;
  for (discovery::RegistryStatus const& status : sources.registries.status()) {
    bool const settled = status.state == (serving ? discovery::RegistryState::registered
                                                  : discovery::RegistryState::deregistered);
    state.registries.push_back({.name = status.name,
                                .state = std::string(discovery::name(status.state)),
                                .settled = settled,
                                .detail = status.last_error.empty() ? "" : kWhereReported});
  }
}

probes::ProbeState state_of(StatusSources const& sources) {
  lifecycle::Snapshot const snapshot = sources.core.snapshot();
  Readiness readiness = sources.readiness();
  probes::ProbeState state;
  state.phase = name(snapshot.phase);
  state.ready = readiness.is_ready;
  state.ready_reason = std::move(readiness.reason);
  state.shim_missing = sources.shim_watch.warning();
  state.busy = snapshot.admission.busy;
  state.socket = probes::SocketState::bound;
  state.engine_started = sources.core.health().started();
  state.engine_alive = snapshot.verdict != lifecycle::Verdict::dead &&
                       snapshot.verdict != lifecycle::Verdict::wedged &&
                       !(snapshot.replacement && snapshot.replacement->condemned);
  state.engine_verdict = name(snapshot.verdict);
  state.engine_reason = snapshot.verdict_reason;
  put_checks(state, sources);
  put_registries(state, sources);
  sources.core.endpoints().for_each([&](lifecycle::EndpointTracker::Endpoint const& endpoint) {
    // The ingress, and SDKs that only begin requests, register no endpoint; for those, the state of
    // the whole instance applies.
    bool const is_gone = endpoint.withdrawn || endpoint.forgotten;
    state.endpoints.push_back({endpoint.name, state.ready && !is_gone});
  });
  state.peers = snapshot.peers;
  if (snapshot.source != lifecycle::InFlightSource::unknown) {
    state.in_flight = snapshot.in_flight;
  }
  return state;
}

}  // namespace

struct ProbePublisher::Timer {
  Timer(boost::asio::io_context& io, std::function<void()> at_beat)
      : timer(io), on_beat(std::move(at_beat)) {}
  boost::asio::steady_timer timer;
  std::function<void()> on_beat;
};

ProbePublisher::ProbePublisher(boost::asio::io_context& io, config::Config const& config,
                               Handlers handlers, telemetry::Log& log)
    : io_(io),
      refused_(log, "a call of the probe port was refused because of its token"),
      thresholds_(io, config.admission, std::move(handlers.thresholds), thresholds_on_the_loop()),
      orders_(io, config.probes.orders_token_file, std::move(handlers.orders),
              thresholds_on_the_loop()),
      metrics_({.dynamo_namespace = config.identity.dynamo_namespace,
                .component = config.identity.component,
                .endpoint = config.identity.endpoint,
                .model = config.identity.model,
                .worker_id = discovery::instance_hex(instance_of(config, std::nullopt).id),
                .version = LASTCALL_VERSION}),
      stall_after_(probes::stall_limit(config.health.interval)),
      routes_(
          state_, [this] { return metrics_.serialize(); }, stall_after_),
      engine_metrics_(
          {.engine_url = config::resolve_engine(config).metrics_url,
           .merge = config.probes.merge_engine_metrics,
           .timeout = config.probes.engine_metrics_timeout},
          [this] { return metrics_.serialize(); },
          [this](bool up) { metrics_.engine().set_metrics_up(up); }),
      listener_({.host = config.probes.listen.host,
                 .port = config.probes.listen.port,
                 .max_body = thresholds_.longest_body(),
                 .callers = config.probes.orders_token_file || config.admission.http_token
                                ? probes::CallerFacts::address
                                : probes::CallerFacts::none},
                [this](probes::Request const& request, probes::Responder const& responder) {
                  bool const is_answered =
                      thresholds_.answer(request, responder) ||
                      orders_.answer(request, responder) ||
                      (status_page_ != nullptr && status_page_->answer(request, responder)) ||
                      engine_metrics_.answer(request, responder);
                  if (!is_answered) {
                    responder.send(routes_.answer(request));
                  }
                }),
      timer_(std::make_unique<Timer>(io, std::move(handlers.beat))) {
  metrics_.supervisor().watch_heartbeat(state_);
  metrics_.model_served(config.identity.model);
}

ProbePublisher::~ProbePublisher() {
  listener_.stop();
}

HttpOrders::Refused ProbePublisher::thresholds_on_the_loop() {
  return [this](telemetry::RefusedCall call) {
    boost::asio::post(io_, [this, call = std::move(call)] {
      metrics_.hooks().call_refused(call.path);
      refused_.report(call, monotonic_now());
    });
  };
}

void ProbePublisher::serve_status(StatusSources const& sources) {
  routes_.offer_status_page();
  auto const publish = [this, &sources] {
    status_page_->publish(public_status_.json(sources, monotonic_now()));
  };
  status_page_ =
      std::make_unique<probes::StatusPage>([this, publish] { boost::asio::post(io_, publish); });
}

std::string ProbePublisher::start() {
  return listener_.start().value_or("");
}

void ProbePublisher::stop() {
  listener_.stop();
}

void ProbePublisher::publish(StatusSources const& sources) {
  probes::ProbeState state = state_of(sources);
  metrics_.lifecycle().set_ready(state.ready);
  lifecycle::AdmissionState const admission = sources.core.snapshot().admission;
  metrics_.admission().set_limits(admission.limits.running, admission.limits.waiting);
  metrics_.admission().set_busy(admission.busy);
  state_.publish(std::move(state));
  public_status_.note(sources.core.snapshot(), monotonic_now());
  core_ = &sources.core;
}

/// A rank whose process has gone no longer reports anything.
void ProbePublisher::publish_loads() {
  auto const& ranks = core_->loads().ranks();
  for (std::uint32_t const rank : reported_ranks_) {
    if (!ranks.contains(rank)) {
      metrics_.admission().set_rank_load(rank, std::nullopt, std::nullopt, std::nullopt);
    }
  }
  reported_ranks_.clear();
  for (auto const& [number, rank] : ranks) {
    reported_ranks_.push_back(number);
    metrics_.admission().set_rank_load(number, rank.report.active_decode_blocks,
                                       rank.report.kv_total_blocks,
                                       rank.report.active_prefill_tokens);
  }
}

void ProbePublisher::beat() {
  constexpr lifecycle::Duration kOverdueAfter{5'000};
  state_.beat();
  if (core_ != nullptr) {
    auto const then = monotonic_now() - kOverdueAfter;
    metrics_.cancels().set_overdue(core_->requests().unconfirmed_since(then));
    publish_loads();
  }
  timer_->on_beat();
}

void ProbePublisher::beat_by_itself(bool wanted) {
  if (wanted == beats_by_itself_) {
    return;
  }
  beats_by_itself_ = wanted;
  timer_->timer.cancel();
  if (wanted) {
    beat();
    arm();
  }
}

void ProbePublisher::arm() {
  timer_->timer.expires_after(stall_after_ / 3);
  timer_->timer.async_wait([this](boost::system::error_code error) {
    if (!error && beats_by_itself_) {
      beat();
      arm();
    }
  });
}

}  // namespace lastcall::runtime
