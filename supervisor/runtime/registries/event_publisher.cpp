#include "supervisor/runtime/registries/event_publisher.hpp"

#include <optional>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <nlohmann/json.hpp>

#include "base/calendar.hpp"
#include "base/clock.hpp"
#include "base/json_member.hpp"
#include "discovery/instance.hpp"
#include "discovery/nats_events.hpp"
#include "ingress/tracker.hpp"
#include "supervisor/runtime/registries/registry_factory.hpp"

namespace lastcall::runtime {
namespace {

using Json = nlohmann::ordered_json;
using lifecycle::name;
using lifecycle::to_ms;

}  // namespace

struct EventPublisher::State {
  State(boost::asio::any_io_executor const& executor, discovery::NatsSettings settings,
        lifecycle::Lifecycle const& lifecycle, telemetry::Log& to)
      : core(lifecycle),
        log(to),
        timer(executor),
        nats(executor, std::move(settings), [this](std::string const& error) { note(error); }) {}

  void note(std::string const& error) {
    last_error = error;
    if (is_failing == !error.empty()) {
      return;  // nothing new
    }
    is_failing = !error.empty();
    log.write(*is_failing ? telemetry::LogLevel::warning : telemetry::LogLevel::info,
              *is_failing ? "events cannot be published" : "events are published",
              {{"error", *is_failing ? std::optional(error) : std::nullopt}});
  }

  void publish(std::string_view event, Json const& fields) {
    if (has_ended) {
      return;
    }
    // Times have milliseconds, because readers put events of several pods in order.
    Json message{{"event", event}, {"time", utc_now(Fraction::milliseconds)}};
    message.update(fields);
    message.update(instance);
    nats.publish(json::dump(message));
  }

  void progress(lifecycle::Instant now) {
    lifecycle::Snapshot const snapshot = core.snapshot();
    if (snapshot.phase != lifecycle::Phase::draining) {
      return;
    }
    progress_at = now;
    Json fields{{"in_flight", snapshot.in_flight},
                {"active_graceful_endpoints", snapshot.active_graceful}};
    if (snapshot.stop) {
      fields["left_ms"] = to_ms(snapshot.stop->deadline - now);
    }
    publish("drain", fields);
  }

  lifecycle::Lifecycle const& core;
  telemetry::Log& log;
  Json instance;
  std::optional<bool> is_failing;  // not known before the first message
  std::string last_error;          // empty while messages reach a server
  bool has_ended = false;
  lifecycle::Instant progress_at;
  boost::asio::steady_timer timer;
  CleanupHooks::Done done;
  discovery::NatsEvents nats;
};

EventPublisher::EventPublisher(boost::asio::any_io_executor executor, config::Config const& config,
                               discovery::Instance const& instance,
                               lifecycle::Lifecycle const& core, telemetry::Log& log) {
  if (!config.events.nats.url) {
    return;
  }
  state_ = std::make_unique<State>(
      executor, nats_settings(config.events.nats, discovery::instance_hex(instance.id)), core, log);
  state_->instance = {{"instance_id", instance.id},      {"namespace", instance.dynamo_namespace},
                      {"component", instance.component}, {"endpoint", instance.endpoint},
                      {"advertise", instance.advertise}, {"model", instance.model},
                      {"pod_uid", instance.pod_uid}};
}

EventPublisher::~EventPublisher() = default;

void EventPublisher::report(lifecycle::Instant now, lifecycle::Action const& action) {
  if (!state_) {
    return;
  }
  State& state = *state_;
  if (auto const* begun = std::get_if<lifecycle::PhaseBegun>(&action)) {
    state.publish("phase", {{"phase", name(begun->phase)}});
  } else if (auto const* ended = std::get_if<lifecycle::PhaseEnded>(&action)) {
    state.publish("phase_ended", {{"phase", name(ended->phase)},
                                  {"outcome", name(ended->outcome)},
                                  {"elapsed_ms", to_ms(ended->elapsed)}});
  } else if (auto const* stop = std::get_if<lifecycle::StopBegun>(&action)) {
    state.publish("stop", {{"cause", stop->cause},
                           {"mode", name(stop->mode)},
                           {"left_ms", to_ms(stop->deadline - now)}});
  } else if (auto const* changed = std::get_if<lifecycle::VerdictChanged>(&action)) {
    state.publish("health", {{"verdict", name(changed->verdict)},
                             {"busy", changed->verdict == lifecycle::Verdict::busy},
                             {"reason", changed->reason}});
  } else if (auto const* load = std::get_if<lifecycle::BusyChanged>(&action)) {
    state.publish("busy", {{"busy", load->busy}});
  } else if (std::holds_alternative<lifecycle::GracefulEndpoints>(action)) {
    state.progress(now);
  } else if (std::holds_alternative<lifecycle::RequestSettled>(action)) {
    if (now - state.progress_at >= kProgressPause) {
      state.progress(now);
    }
  } else if (std::holds_alternative<lifecycle::Rearm>(action)) {
    state.has_ended = false;
  }
}

void EventPublisher::migrated(ingress::HandedOff const& handed) {
  if (state_) {
    state_->publish("migrated", {{"reason", handed.reason},
                                 {"request",
                                  {{"id", handed.id},
                                   {"endpoint", handed.endpoint},
                                   {"model", handed.model},
                                   {"events_sent", handed.events},
                                   {"bytes_sent", handed.bytes}}}});
  }
}

void EventPublisher::disconnect(lifecycle::Instant deadline, CleanupHooks::Done done) {
  if (!state_) {
    done({lifecycle::ItemOutcome::skipped, {}});
    return;
  }
  State& state = *state_;
  state.has_ended = true;
  state.done = std::move(done);
  state.timer.expires_at(to_steady(deadline));
  state.timer.async_wait([&state](boost::system::error_code error) {
    if (!error && state.done) {
      std::exchange(state.done, nullptr)({lifecycle::ItemOutcome::timed_out,
                                          state.last_error.empty()
                                              ? "the server did not accept the last events in time"
                                              : state.last_error});
    }
  });
  state.nats.disconnect(to_steady(deadline), [&state](discovery::RegistryResult result) {
    state.timer.cancel();
    if (state.done) {
      std::exchange(state.done, nullptr)(
          {result.confirmed ? lifecycle::ItemOutcome::completed : lifecycle::ItemOutcome::failed,
           std::move(result.reason)});
    }
  });
}

}  // namespace lastcall::runtime
