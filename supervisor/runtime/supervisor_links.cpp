// The reports of the supervisor's parts to each other.
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "supervisor/runtime/listener/requests_page.hpp"
#include "supervisor/runtime/record/stop_summary.hpp"
#include "supervisor/runtime/supervisor.hpp"

namespace lastcall::runtime {

void Supervisor::own_signal(std::string const& name) {
  if (name == "HUP") {
    log_.info("reload requested", {{"by", "signal HUP"}});
    settings_.reload();
    return;
  }
  log_.info("stop signal", {{"signal", name}, {"from", "supervisor"}});
  probes_.metrics().signal_received(name);
  loop_.feed(lifecycle::OwnSignal{name});
  changed();
}

std::vector<ipc::PeerId> Supervisor::ask_sdks(ipc::FromSupervisor const& question) {
  peers_.sdks().broadcast(question);
  return peers_.sdks().connected();
}

EngineWatch::Callbacks Supervisor::engine_callbacks() {
  return {.ask_peers = [this] { return ask_sdks(ipc::HealthCheck{}); },
          .on_outcome =
              [this](std::string const& check, probes::CheckOutcome const& outcome) {
                probes_.metrics().check_ended(check, outcome);
                changed();
              },
          .on_round = [this] { probes_.beat(); },
          .on_all_passed =
              [this](lifecycle::Instant since) {
                ingress_.checks_passed(since);
                for (SdkSessions::Row const& row : peers_.sdks().rows()) {
                  if (row.has_doubted) {
                    peers_.server().send(row.peer, ipc::HealthCleared{since});
                  }
                }
              },
          .on_reading = [this] { changed(); }};
}

Registries::Callbacks Supervisor::registry_callbacks() {
  return {.ask_peers = [this] { return ask_sdks(ipc::Deregister{}); },
          .ask_self_registering =
              [this] {
                std::vector<ipc::PeerId> const peers = peers_.sdks().self_registering();
                for (ipc::PeerId const peer : peers) {
                  peers_.server().send(peer, ipc::Deregister{});
                }
                return peers;
              },
          .peers_expected_until = [this]() -> std::optional<discovery::TimePoint> {
            auto const until = core_.peers_expected_until();
            return until ? std::optional(to_steady(*until)) : std::nullopt;
          },
          .on_change = [this](discovery::RegistryStatus const& s) { registry_changed(s); },
          .hooks = {.summary =
                        [this] {
                          bool const has_ended =
                              core_.snapshot().engine == lifecycle::EngineState::exited;
                          return summarize(core_.report(monotonic_now()), has_ended);
                        },
                    .on_deletion =
                        [this](std::chrono::seconds grace) {
                          log_.info("the pod is being deleted", {{"grace_s", grace.count()}});
                          loop_.feed(lifecycle::DeletionSeen{.grace = grace});
                          changed();
                        },
                    .in_flight = [this]() -> std::optional<std::uint64_t> {
                      lifecycle::Snapshot const now = core_.snapshot();
                      bool const is_known = now.source != lifecycle::InFlightSource::unknown;
                      return is_known ? std::optional<std::uint64_t>(now.in_flight) : std::nullopt;
                    },
                    .on_cost_failed =
                        [this](std::string const& reason) {
                          log_.warning("cannot write the pod's deletion cost", {{"error", reason}});
                        }}};
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
                registries_.disconnect(deadline, std::move(done));
              }};
}

void Supervisor::registry_changed(discovery::RegistryStatus const& status) {
  using discovery::RegistryState;
  using probes::RegistryOperation;
  bool const has_entered = status.state == RegistryState::registered;
  bool const has_left = status.state == RegistryState::deregistered;
  if (has_entered || has_left || status.state == RegistryState::failed) {
    probes_.metrics().registry_ended(
        status.name, has_entered ? RegistryOperation::register_ : RegistryOperation::deregister,
        has_entered || has_left, status.latency);
    if (has_entered || has_left) {  // after a failure it may still be registered
      probes_.metrics().set_registered(status.name, has_entered);
    }
  } else if (status.state == RegistryState::registering) {
    probes_.metrics().registry_retried(status.name, RegistryOperation::register_);
    probes_.metrics().set_registered(status.name, false);
  } else if (status.state == RegistryState::deregistering) {
    probes_.metrics().registry_retried(status.name, RegistryOperation::deregister);
  }
  changed();
}

/// A question to one connection may have been lost with it or with an earlier supervisor, and
/// asking again does no harm.
void Supervisor::ask_if_leaving(ipc::PeerId peer) {
  lifecycle::Phase const phase = core_.snapshot().phase;
  bool const is_leaving =
      phase >= lifecycle::Phase::deregistering && phase <= lifecycle::Phase::cleaning_up;
  if (is_leaving || registries_.is_asking_sdks()) {
    peers_.server().send(peer, ipc::Deregister{});
    registries_.peer_joined(peer);
  }
}

void Supervisor::drop_replaced_debts() {
  if (registries_.is_asking_sdks()) {
    for (ipc::PeerId const peer : peers_.sdks().replaced()) {
      registries_.peer_replaced(peer);
    }
  }
}

SdkSessions::Listeners Supervisor::sdk_listeners() {
  return {.joined =
              [this](ipc::PeerId peer) {
                if (registries_.asks_every_sdk()) {
                  ask_if_leaving(peer);
                }
                drop_replaced_debts();
              },
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
          .registered =
              [this](ipc::PeerId peer) {
                registries_.note_self_registering();
                if (!registries_.asks_every_sdk()) {
                  ask_if_leaving(peer);
                }
              },
          .deregistered = [this](ipc::PeerId peer) { registries_.peer_done(peer); },
          .left =
              [this](ipc::PeerId peer) {
                engine_.health().peer_left(peer);
                drop_replaced_debts();
              },
          .request_began =
              [this](std::string_view endpoint) {
                probes_.metrics().request_began(endpoint);
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
                probes_.metrics().set_shim_missing(is_missing);
                if (is_missing) {
                  registries_.warn("ShimMissing", shim_watch_.warning());
                }
                changed();
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
          .noted = [this](std::string const& text) { registries_.note(text); }};
}

}  // namespace lastcall::runtime
