// The reports of the supervisor's parts to each other.
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "supervisor/runtime/listener/requests_page.hpp"
#include "supervisor/runtime/supervisor.hpp"

namespace lastcall::runtime {

void Supervisor::own_signal(std::string const& name) {
  if (name == "HUP") {
    log_.info("reload requested", {{"by", "signal HUP"}});
    settings_.reload();
    return;
  }
  log_.info("stop signal", {{"signal", name}, {"from", "supervisor"}});
  probes_.metrics().processes().signal_received(name);
  loop_.feed(lifecycle::OwnSignal{name});
  refresh_.request();
}

EngineWatch::Callbacks Supervisor::engine_callbacks() {
  return {.ask_peers =
              [this] {
                peers_.sdks().broadcast(ipc::HealthCheck{});
                return peers_.sdks().peers().connected();
              },
          .on_outcome =
              [this](std::string const& check, probes::CheckOutcome const& outcome) {
                probes_.metrics().engine().check_ended(check, outcome);
                refresh_.request();
              },
          .on_round = [this] { probes_.beat(); },
          .on_all_passed =
              [this](lifecycle::Instant since) {
                ingress_.checks_passed(since);
                for (SdkPeers::Row const& row : peers_.sdks().peers().rows()) {
                  if (row.has_doubted) {
                    peers_.server().send(row.peer, ipc::HealthCleared{since});
                  }
                }
              },
          .on_reading = [this] { refresh_.request(); }};
}

CleanupItems::Others Supervisor::other_items() {
  return {.sdk = [this](lifecycle::Instant deadline) { peers_.sdks().clean_up(deadline); },
          .events =
              [this](lifecycle::Instant deadline, CleanupHooks::Done done) {
                ingress_.after_cuts([this, deadline, done = std::move(done)] {
                  records_.events().disconnect(deadline, done);
                });
              },
          .registries =
              [this](lifecycle::Instant deadline, CleanupHooks::Done done) {
                registration_.registries().disconnect(deadline, std::move(done));
              }};
}

SdkSessions::Listeners Supervisor::sdk_listeners() {
  return {.joined = [this](ipc::PeerId peer) { registration_.sdk_joined(peer); },
          .health = [this](ipc::PeerId peer,
                           ipc::Health const& health) { engine_.health().health(peer, health); },
          .doubt =
              [this](ipc::PeerId peer) {
                if (engine_.may_be_dying()) {
                  engine_.health().doubt();
                } else {
                  peers_.server().send(peer, ipc::HealthCleared{monotonic_now()});
                }
              },
          .registered = [this](ipc::PeerId peer) { registration_.sdk_registered(peer); },
          .deregistered =
              [this](ipc::PeerId peer) { registration_.registries().sdks().peer_done(peer); },
          .left =
              [this](ipc::PeerId peer) {
                engine_.health().peer_left(peer);
                registration_.drop_replaced_debts();
              },
          .request_began =
              [this](std::string_view endpoint) {
                probes_.metrics().requests().began(endpoint);
                peers_.operators().changed();
              },
          .own_mark = [this] { return engine_.token().mark(); }};
}

IngressReports::Listeners Supervisor::ingress_listeners() {
  return {.engine_may_be_gone =
              [this] {
                // If a container is killed, its shim's connection ends before the engine's does,
                // and the core does not know that until it gives the shim up.
                return core_.snapshot().engine == lifecycle::EngineState::running;
              },
          .engine_may_be_dying = [this] { return engine_.may_be_dying(); },
          .error_held = [this] { engine_.health().doubt(); },
          .request_began = [this] { peers_.operators().changed(); },
          .handed_off =
              [this](ingress::HandedOff const& handed) { records_.events().migrated(handed); },
          .slow_turn =
              [this](std::string_view kind, SlowSteps::Clock::duration took) {
                SlowSteps::Clock::time_point const now = SlowSteps::Clock::now();
                records_.took(kind, now - took, now);
              }};
}

ShimWatch::Callbacks Supervisor::shim_watch_callbacks() {
  return {.follow_socket = [this] { peers_.server().follow_sockets(); },
          .changed =
              [this](bool is_missing) {
                probes_.metrics().lifecycle().set_shim_missing(is_missing);
                if (is_missing) {
                  registration_.registries().warn("ShimMissing", shim_watch_.warning());
                }
                refresh_.request();
              }};
}

OperatorSessions::Answers Supervisor::operator_answers() {
  return {.welcome = [this] { return welcome_of(core_); },
          .status = [this] { return status_json(sources(), monotonic_now()); },
          .requests =
              [this](std::string const& after, std::size_t limit, ReportPage report) {
                report_requests(
                    sources(), monotonic_now(), after, limit,
                    [this](std::vector<std::string> ids, ingress::ReportDeliveries report) {
                      ingress_.deliveries(std::move(ids), std::move(report));
                    },
                    std::move(report));
              },
          .reload = [this] { return settings_.reload(); },
          .set_admission =
              [this](ipc::AdmissionSet const& set) { return settings_.set_admission(set); },
          .set_thresholds =
              [this](ipc::ThresholdsSet const& set) { return settings_.set_thresholds(set); },
          .noted = [this](std::string const& text) { registration_.registries().note(text); }};
}

}  // namespace lastcall::runtime
