#include "supervisor/runtime/registration.hpp"

#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "supervisor/runtime/listener/metrics_feed.hpp"
#include "supervisor/runtime/record/stop_summary.hpp"

namespace lastcall::runtime {

Registration::Registration(boost::asio::any_io_executor const& executor,
                           config::Config const& config,
                           std::optional<std::string> const& advertise,
                           lifecycle::Lifecycle const& core, EventSink& events, ipc::Server& server,
                           SdkSessions& sdks, probes::Metrics& metrics, telemetry::Log& log,
                           std::function<void()> changed)
    : core_(core),
      events_(events),
      server_(server),
      sdks_(sdks),
      metrics_(metrics),
      log_(log),
      changed_(std::move(changed)),
      registries_(executor, config, advertise, events, log, callbacks()) {}

Registries::Callbacks Registration::callbacks() {
  return {.ask_peers =
              [this] {
                sdks_.broadcast(ipc::Deregister{});
                return sdks_.peers().connected();
              },
          .ask_self_registering =
              [this] {
                std::vector<ipc::PeerId> const peers = sdks_.peers().self_registering();
                for (ipc::PeerId const peer : peers) {
                  server_.send(peer, ipc::Deregister{});
                }
                return peers;
              },
          .peers_expected_until = [this]() -> std::optional<discovery::TimePoint> {
            auto const until = core_.peers_expected_until();
            return until ? std::optional(to_steady(*until)) : std::nullopt;
          },
          .on_change =
              [this](discovery::RegistryStatus const& status) {
                count(metrics_, status);
                changed_();
              },
          .hooks = hooks()};
}

RegistryHooks Registration::hooks() {
  return {.summary =
              [this] {
                bool const has_ended = core_.snapshot().engine == lifecycle::EngineState::exited;
                return summarize(core_.report(monotonic_now()), has_ended);
              },
          .on_deletion =
              [this](std::chrono::seconds grace) {
                log_.info("the pod is being deleted", {{"grace_s", grace.count()}});
                events_.feed(lifecycle::DeletionSeen{.grace = grace});
                changed_();
              },
          .in_flight = [this]() -> std::optional<std::uint64_t> {
            lifecycle::Snapshot const now = core_.snapshot();
            bool const is_known = now.source != lifecycle::InFlightSource::unknown;
            return is_known ? std::optional<std::uint64_t>(now.in_flight) : std::nullopt;
          },
          .on_cost_failed =
              [this](std::string const& reason) {
                log_.warning("cannot write the pod's deletion cost", {{"error", reason}});
              }};
}

void Registration::sdk_joined(ipc::PeerId peer) {
  if (registries_.sdks().asks_every_sdk()) {
    ask_if_leaving(peer);
  }
  drop_replaced_debts();
}

void Registration::sdk_registered(ipc::PeerId peer) {
  registries_.note_self_registering();
  if (!registries_.sdks().asks_every_sdk()) {
    ask_if_leaving(peer);
  }
}

void Registration::drop_replaced_debts() {
  if (registries_.sdks().is_asking()) {
    for (ipc::PeerId const peer : sdks_.peers().replaced()) {
      registries_.sdks().peer_replaced(peer);
    }
  }
}

void Registration::ask_if_leaving(ipc::PeerId peer) {
  lifecycle::Phase const phase = core_.snapshot().phase;
  bool const is_leaving =
      phase >= lifecycle::Phase::deregistering && phase <= lifecycle::Phase::cleaning_up;
  if (is_leaving || registries_.sdks().is_asking()) {
    server_.send(peer, ipc::Deregister{});
    registries_.sdks().peer_joined(peer);
  }
}

}  // namespace lastcall::runtime
