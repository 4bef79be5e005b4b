#include "supervisor/runtime/part_links.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "supervisor/runtime/listener/requests_page.hpp"

namespace lastcall::runtime {

ProbePublisher::Handlers probe_handlers(lifecycle::Lifecycle const& core, LiveSettings& settings,
                                        PeerSessions& peers) {
  return {.thresholds =
              [&settings](probes::ThresholdCall const& call) {
                return settings.thresholds_over_http(call);
              },
          .orders =
              [&core, &peers](HttpOrder order, std::string const& caller) {
                return order_over_http(order, caller, peers.operators(), core);
              },
          .beat = [&peers] { peers.server().follow_sockets(); }};
}

EngineWatch::Callbacks engine_callbacks(PeerSessions& peers, IngressSession& ingress,
                                        ProbePublisher& probes, OncePerTurn& refresh) {
  return {.ask_peers =
              [&peers] {
                peers.sdks().broadcast(ipc::HealthCheck{});
                return peers.sdks().peers().connected();
              },
          .on_outcome =
              [&](std::string const& check, probes::CheckOutcome const& outcome) {
                probes.metrics().engine().check_ended(check, outcome);
                refresh.request();
              },
          .on_round = [&probes] { probes.beat(); },
          .on_all_passed =
              [&](lifecycle::Instant since) {
                ingress.checks_passed(since);
                for (SdkPeers::Row const& row : peers.sdks().peers().rows()) {
                  if (row.has_doubted) {
                    peers.server().send(row.peer, ipc::HealthCleared{since});
                  }
                }
              },
          .on_reading = [&refresh] { refresh.request(); }};
}

CleanupItems::Others other_items(PeerSessions& peers, IngressSession& ingress, StepRecords& records,
                                 Registration& registration) {
  return {.sdk = [&peers](lifecycle::Instant deadline) { peers.sdks().clean_up(deadline); },
          .events =
              [&](lifecycle::Instant deadline, CleanupHooks::Done done) {
                ingress.after_cuts([&records, deadline, done = std::move(done)] {
                  records.events().disconnect(deadline, done);
                });
              },
          .registries =
              [&registration](lifecycle::Instant deadline, CleanupHooks::Done done) {
                registration.registries().disconnect(deadline, std::move(done));
              }};
}

SdkSessions::Listeners sdk_listeners(PeerSessions& peers, EngineWatch& engine,
                                     Registration& registration, ProbePublisher& probes) {
  return {
      .joined = [&registration](ipc::PeerId peer) { registration.sdk_joined(peer); },
      .health = [&engine](ipc::PeerId peer,
                          ipc::Health const& health) { engine.health().health(peer, health); },
      .doubt =
          [&](ipc::PeerId peer) {
            if (engine.may_be_dying()) {
              engine.health().doubt();
            } else {
              peers.server().send(peer, ipc::HealthCleared{monotonic_now()});
            }
          },
      .registered = [&registration](ipc::PeerId peer) { registration.sdk_registered(peer); },
      .deregistered =
          [&registration](ipc::PeerId peer) { registration.registries().sdks().peer_done(peer); },
      .left =
          [&](ipc::PeerId peer) {
            engine.health().peer_left(peer);
            registration.drop_replaced_debts();
          },
      .request_began =
          [&](std::string_view endpoint) {
            probes.metrics().requests().began(endpoint);
            peers.operators().changed();
          },
      .own_mark = [&engine] { return engine.token().mark(); }};
}

IngressReports::Listeners ingress_listeners(lifecycle::Lifecycle const& core, PeerSessions& peers,
                                            EngineWatch& engine, StepRecords& records) {
  return {.engine_may_be_gone =
              [&core] {
                // If a container is killed, its shim's connection ends before the engine's does,
                // and the core does not know that until it gives the shim up.
                return core.snapshot().engine == lifecycle::EngineState::running;
              },
          .engine_may_be_dying = [&engine] { return engine.may_be_dying(); },
          .error_held = [&engine] { engine.health().doubt(); },
          .request_began = [&peers] { peers.operators().changed(); },
          .handed_off =
              [&records](ingress::HandedOff const& handed) { records.events().migrated(handed); },
          .slow_turn =
              [&records](std::string_view kind, SlowSteps::Clock::duration took) {
                SlowSteps::Clock::time_point const now = SlowSteps::Clock::now();
                records.took(kind, now - took, now);
              }};
}

ShimWatch::Callbacks shim_watch_callbacks(ShimWatch const& shim_watch, PeerSessions& peers,
                                          Registration& registration, ProbePublisher& probes,
                                          OncePerTurn& refresh) {
  return {.follow_socket = [&peers] { peers.server().follow_sockets(); },
          .changed =
              [&](bool is_missing) {
                probes.metrics().lifecycle().set_shim_missing(is_missing);
                if (is_missing) {
                  registration.registries().warn("ShimMissing", shim_watch.warning());
                }
                refresh.request();
              }};
}

OperatorSessions::Answers operator_answers(lifecycle::Lifecycle const& core,
                                           StatusSources const& sources, LiveSettings& settings,
                                           IngressSession& ingress, Registration& registration) {
  return {
      .welcome = [&core] { return welcome_of(core); },
      .status = [&sources] { return status_json(sources, monotonic_now()); },
      .requests =
          [&](std::string const& after, std::size_t limit, ReportPage report) {
            report_requests(
                sources, monotonic_now(), after, limit,
                [&ingress](std::vector<std::string> ids, ingress::ReportDeliveries report) {
                  ingress.deliveries(std::move(ids), std::move(report));
                },
                std::move(report));
          },
      .reload = [&settings] { return settings.reload(); },
      .set_admission =
          [&settings](ipc::AdmissionSet const& set) { return settings.set_admission(set); },
      .set_thresholds =
          [&settings](ipc::ThresholdsSet const& set) { return settings.set_thresholds(set); },
      .noted = [&registration](std::string const& text) { registration.registries().note(text); }};
}

OwnSignals::OnSignal own_signal_handler(EventSink& events, LiveSettings& settings,
                                        ProbePublisher& probes, telemetry::Log& log,
                                        OncePerTurn& refresh) {
  return [&](std::string const& name) {
    if (name == "HUP") {
      log.info("reload requested", {{"by", "signal HUP"}});
      settings.reload();
      return;
    }
    log.info("stop signal", {{"signal", name}, {"from", "supervisor"}});
    probes.metrics().processes().signal_received(name);
    events.feed(lifecycle::OwnSignal{name});
    refresh.request();
  };
}

}  // namespace lastcall::runtime
