// What the core orders, carried out; and what the parts tell each other.
#include <utility>

#include "supervisor/runtime/cleanup_paths.hpp"
#include "supervisor/runtime/clock.hpp"
#include "supervisor/runtime/metrics_feed.hpp"
#include "supervisor/runtime/report.hpp"
#include "supervisor/runtime/stop_summary.hpp"
#include "supervisor/runtime/supervisor.hpp"

namespace lastcall::runtime {
namespace {

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

bool is_relayed(lifecycle::PeerId peer) {
  return peer == lifecycle::kIngressPeer;
}

}  // namespace

void Supervisor::obey(lifecycle::Instant now, lifecycle::Action const& action) {
  namespace act = lifecycle;
  count(probes_.metrics(), action);
  narrator_.tell(now, action);
  events_.tell(now, action);
  std::visit(
      Overloaded{
          [&](act::Remember const& order) { remember(order); },
          [&](act::ForgetStopRecord const&) { stop_record_.remove(); },
          [&](act::StartEngine const&) { shim_.tell(ipc::EngineStart{}); },
          [&](act::SignalEngine const& order) {
            shim_.tell(ipc::EngineSignal{
                order.name, order.all ? ipc::SignalScope::all : ipc::SignalScope::main});
          },
          [&](act::ExitShim const& order) {
            shim_.tell(ipc::Exit{order.code, report_});
          },
          [&](act::AnnouncePhase const& order) { announce(order); },
          [&](act::CancelsReady const& order) {
            is_relayed(order.peer) ? ingress_.cancels_ready() : server_.cancels_ready(order.peer);
          },
          [&](act::Admit const& order) {
            is_relayed(order.peer) ? ingress_.admit(order) : sdks_.admit(order);
          },
          [&](act::Reject const& order) {
            is_relayed(order.peer) ? ingress_.reject(order) : sdks_.reject(order);
          },
          [&](act::ForgetPeer const& order) {
            registries_.peer_gone(order.peer);
            sdks_.forget(order.peer);
          },
          [&](act::ReleaseHook const& order) {
            hook_calls_.release(order);
            changed();
          },
          [&](act::AwaitReplacement const& order) {
            hook_calls_.await(order);
            changed();
          },
          [&](act::ReplacementEnded const&) {
            hook_calls_.replacement_ended();
            changed();
          },
          [&](act::Register const&) { registries_.register_all(); },
          [&](act::Deregister const& order) { registries_.deregister(order.deadline); },
          [&](act::StartCleanup const& order) { start_cleanup(order); },
          [&](act::PublishReport const&) { publish_report(now); },
          [&](act::Rearm const&) { rearm(); },
          [&](act::ExitSupervisor const& order) { end(order.code); },
          // Answers are the loop's matter; notes have been counted and told above.
          [](act::Refuse const&) {}, [](act::Answer const&) {},
          [&](act::StopBegun const&) { changed(); }, [](act::SignalIgnored const&) {},
          [](act::DrainAborted const&) {}, [&](act::PhaseBegun const&) { changed(); },
          [](act::PhaseEnded const&) {}, [&](act::GracefulEndpoints const&) { changed(); },
          [](act::LastEndpointCompleted const&) {}, [&](act::VerdictChanged const&) { changed(); },
          [&](act::RequestSettled const&) { operators_.changed(); },
          [&](act::BusyChanged const&) { changed(); }, [](act::CancelCounted const&) {},
          [](act::CancelSettled const&) {}},
      action);
}

void Supervisor::remember(lifecycle::Remember const& order) {
  if (shim_.is_connected()) {
    shim_.tell(ipc::Remember{order.blob});
    return;
  }
  if (std::string const problem = stop_record_.write(order.blob); !problem.empty()) {
    log_.error("a restart would not know of this stop", {{"detail", problem}});
  }
}

void Supervisor::announce(lifecycle::AnnouncePhase const& order) {
  ipc::PhaseChange const change{order.phase, order.deadline};
  shim_.tell(change);
  sdks_.broadcast(change);
  ingress_.phase(order.phase);
  changed();
}

void Supervisor::start_cleanup(lifecycle::StartCleanup const& order) {
  lifecycle::CleanupItem const item = order.item;
  switch (item) {
    case lifecycle::CleanupItem::sdk:
      sdks_.clean_up(order.deadline);
      return;
    case lifecycle::CleanupItem::hooks:
      hooks_.run(order.deadline,
                 [this, item](ItemResult result) { settle(item, std::move(result)); });
      return;
    case lifecycle::CleanupItem::events:
      events_.disconnect(order.deadline,
                         [this, item](ItemResult result) { settle(item, std::move(result)); });
      return;
    case lifecycle::CleanupItem::registries:
      registries_.disconnect(order.deadline,
                             [this, item](ItemResult result) { settle(item, std::move(result)); });
      return;
    case lifecycle::CleanupItem::engine:
      return;  // the core's own: it orders signals
    case lifecycle::CleanupItem::paths: {
      auto const result = std::make_shared<ItemResult>();
      worker_.run([result, patterns = config_.cleanup.paths, kept = own_files(),
                   deadline = order.deadline] { *result = remove_paths(patterns, kept, deadline); },
                  [this, item, result] { settle(item, std::move(*result)); });
      return;
    }
  }
}

std::vector<std::string> Supervisor::own_files() const {
  return {config_.ipc.socket, config_.ipc.admin_socket, stop_record_.path(),
          facts_.private_directory};
}

void Supervisor::settle(lifecycle::CleanupItem item, ItemResult result) {
  bool const is_good = result.outcome == lifecycle::ItemOutcome::completed ||
                       result.outcome == lifecycle::ItemOutcome::skipped;
  log_.write(is_good ? LogLevel::info : LogLevel::warning, "cleanup",
             {{"item", name(item)}, {"outcome", name(result.outcome)}, {"detail", result.detail}});
  loop_.feed(lifecycle::CleanupSettled{item, result.outcome, std::move(result.detail)});
}

void Supervisor::publish_report(lifecycle::Instant now) {
  report_ = report_json(
      core_.report(now),
      {.registries = registries_.names(), .engine_end_is_unknown = shim_.lost_a_running_engine()});
  narrator_.report(report_);
  write_termination_log(termination_log_path(), report_);
}

void Supervisor::rearm() {
  hooks_.cancel();
  report_.clear();
  sdks_.rearm();
}

// --- what the parts tell each other --------------------------------------------------------------

std::vector<ipc::PeerId> Supervisor::ask_sdks(ipc::FromSupervisor const& question) {
  sdks_.broadcast(question);
  return sdks_.connected();
}

void Supervisor::watch_engine(ipc::PeerId shim) {
  ipc::PeerInfo const* const info = server_.info(shim);
  if (!shim_.is_run_mode() || !shim_.is(shim) || info == nullptr) {
    return;
  }
  ipc::EngineFacts const& engine = shim_.engine();
  if (engine.state == ipc::EngineState::running) {
    orphan_.watch(info->pid, static_cast<pid_t>(engine.pid));
  } else {
    orphan_.forget();
  }
}

GaugeDriver::Need Supervisor::gauges_needed(lifecycle::Snapshot const& snapshot) const {
  using Need = GaugeDriver::Need;
  // What comes late after `drained` holds a stop that joins: it has to be seen.
  bool const drains =
      snapshot.phase == lifecycle::Phase::draining || snapshot.phase == lifecycle::Phase::drained;
  bool const is_counted = snapshot.source == lifecycle::InFlightSource::sdk ||
                          snapshot.source == lifecycle::InFlightSource::ingress;
  if (drains && !is_counted) {
    return Need::drain;
  }
  bool const is_judged = !snapshot.stop && snapshot.phase != lifecycle::Phase::starting;
  bool const may_stall = config_.health.stalled_after || health_.is_slow();
  if (is_judged && may_stall) {
    return Need::progress;
  }
  return snapshot.admission.thresholds.decode_ppm && !snapshot.stop ? Need::load : Need::none;
}

HealthDriver::Callbacks Supervisor::health_callbacks() {
  return {.ask_peers = [this] { return ask_sdks(ipc::HealthCheck{}); },
          .describe_progress = [this] { return core_.health().progress_text(monotonic_now()); },
          .on_outcome =
              [this](std::string const& check, probes::CheckOutcome const& outcome) {
                probes_.metrics().check_ended(check, outcome);
                changed();
              },
          .on_round = [this] { probes_.beat(); }};
}

Registries::Callbacks Supervisor::registry_callbacks() {
  return {.ask_peers = [this] { return ask_sdks(ipc::Deregister{}); },
          .peers_expected_until = [this]() -> std::optional<discovery::TimePoint> {
            auto const until = core_.peers_expected_until();
            return until ? std::optional(to_steady(*until)) : std::nullopt;
          },
          .on_change = [this](discovery::RegistryStatus const& s) { registry_changed(s); },
          .hooks = {.summary = [this] { return summarize(core_.report(monotonic_now())); },
                    .on_deletion =
                        [this] {
                          loop_.feed(lifecycle::DeletionSeen{});
                          changed();
                        }}};
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
    probes_.metrics().set_registered(status.name, has_entered);
  } else if (status.state == RegistryState::registering) {
    probes_.metrics().registry_retried(status.name, RegistryOperation::register_);
    probes_.metrics().set_registered(status.name, false);
  } else if (status.state == RegistryState::deregistering) {
    probes_.metrics().registry_retried(status.name, RegistryOperation::deregister);
  }
  changed();
}

SdkSessions::Listeners Supervisor::sdk_listeners() {
  return {.joined =
              [this](ipc::PeerId peer) {
                if (registries_.asks_sdks() &&
                    core_.snapshot().phase == lifecycle::Phase::deregistering) {
                  server_.send(peer, ipc::Deregister{});
                  registries_.peer_joined(peer);
                }
              },
          .health = [this](ipc::PeerId peer,
                           ipc::Health const& health) { health_.health(peer, health); },
          .deregistered = [this](ipc::PeerId peer) { registries_.peer_done(peer); },
          .left = [this](ipc::PeerId peer) { health_.peer_left(peer); },
          .request_began =
              [this](std::string_view endpoint) {
                probes_.metrics().request_began(endpoint);
                operators_.changed();
              }};
}

IngressSession::Listeners Supervisor::ingress_listeners() {
  return {.engine_may_be_gone =
              [this] {
                return shim_.is_connected() &&
                       core_.snapshot().engine == lifecycle::EngineState::running;
              },
          .cancels_taken =
              [this](std::size_t most, std::size_t ids) {
                steps_.taken(lifecycle::kIngressPeer, most, ids);
              },
          .request_began = [this] { operators_.changed(); }};
}

OperatorSessions::Answers Supervisor::operator_answers() {
  return {.welcome = [this] { return welcome_of(core_); },
          .status = [this] { return status_json(sources(), monotonic_now()); },
          .requests =
              [this](std::string const& after, std::size_t limit) {
                return requests_json(sources(), monotonic_now(), after, limit);
              },
          .reload = [this] { return reload(); },
          .set_admission = [this](ipc::AdmissionSet const& set) { return set_admission(set); },
          .set_thresholds = [this](ipc::ThresholdsSet const& set) { return set_thresholds(set); }};
}

}  // namespace lastcall::runtime
