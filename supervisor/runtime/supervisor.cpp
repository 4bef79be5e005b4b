#include "supervisor/runtime/supervisor.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/io_context.hpp>

#include "base/overloaded.hpp"
#include "ingress/request_id.hpp"
#include "supervisor/runtime/part_links.hpp"
#include "supervisor/runtime/record/event_log.hpp"
#include "supervisor/runtime/settings.hpp"

namespace lastcall::runtime {
namespace {

std::optional<std::string> advertise_of(config::Config const& config) {
  return config::resolve_advertise(config, config::process_environment()("POD_IP"));
}

template <typename... Orders>
bool is_one_of(lifecycle::Action const& action) {
  return (std::holds_alternative<Orders>(action) || ...);
}

bool is_shown_at_probes(lifecycle::Action const& action) {
  return is_one_of<lifecycle::PhaseBegun, lifecycle::VerdictChanged>(action);
}

bool changes_what_is_shown(lifecycle::Action const& action) {
  return is_shown_at_probes(action) ||
         is_one_of<lifecycle::AnnouncePhase, lifecycle::ReleaseHook, lifecycle::AwaitReplacement,
                   lifecycle::ReplacementEnded, lifecycle::DeletionDisproved, lifecycle::StopBegun,
                   lifecycle::GracefulEndpoints, lifecycle::BusyChanged>(action);
}

}  // namespace

Supervisor::Supervisor(boost::asio::io_context& io, config::Config const& config,
                       ServeOptions const& options, telemetry::Log& log)
    : log_(log),
      refresh_(io, [this] { refresh(); }),
      core_(settings_from(config, options.grace)),
      loop_(io, core_,
            [this](lifecycle::Instant now, lifecycle::Action const& action) { obey(now, action); }),
      settings_(config, options.warnings, options.load, core_, loop_, log,
                {.read_again =
                     [this] {
                       peers_.server().follow_sockets();
                       refresh_.request();
                     },
                 .changed = [this] { refresh_.request(); }}),
      probes_(io, config, probe_handlers(core_, settings_, peers_), log),
      records_(io.get_executor(), config, instance_of(config, advertise_of(config)), core_,
               probes_.metrics(), log),
      peers_(io, config, core_, loop_,
             {.records = records_, .registration = registration_, .hook_calls = hook_calls_},
             probes_.metrics(), log,
             operator_answers(core_, shown_, settings_, ingress_, registration_),
             {.engine_exited =
                  [this](ipc::EngineExited const& exited) { report_.engine_exited(exited); },
              .changed = [this] { refresh_.request(); }}),
      memory_(config.ipc.admin_socket, core_, peers_.server(), peers_.shim(), log),
      report_(io, core_, peers_.shim(), records_.narrator(), log,
              [this](std::string const& report, lifecycle::Instant now) {
                probes_.reported(report, now);
              }),
      shim_watch_(io, !config.lifecycle.enabled, config.ipc.socket, log,
                  shim_watch_callbacks(shim_watch_, peers_, registration_, probes_, refresh_)),
      ingress_(io, settings_.config(), core_, loop_, probes_.metrics(), log,
               ingress_listeners(core_, peers_, engine_, records_),
               [this](std::size_t most, std::size_t ids) {
                 records_.cancels_taken(lifecycle::kIngressPeer, most, ids);
               }),
      requests_(loop_, peers_.server(), peers_.sdks(), ingress_),
      engine_(io.get_executor(), config, core_, loop_, log, ingress::RequestIds().make(),
              engine_callbacks(peers_, ingress_, probes_, refresh_)),
      registration_(io.get_executor(), config, advertise_of(config), core_, loop_, peers_.server(),
                    peers_.sdks(), probes_.metrics(), log, [this] { refresh_.request(); }),
      cleanup_(
          io.get_executor(), config.cleanup,
          {config.ipc.socket, config.ipc.admin_socket, memory_.path(), options.private_directory},
          loop_, log, other_items(peers_, ingress_, records_, registration_)),
      hook_calls_(io.get_executor(), config, loop_, probes_.metrics(), log),
      signals_(io, own_signal_handler(loop_, settings_, probes_, log, refresh_)),
      shown_{.core = core_,
             .server = peers_.server(),
             .shim = peers_.shim(),
             .shim_watch = shim_watch_,
             .sdks = peers_.sdks(),
             .health = engine_.health(),
             .registries = registration_.registries(),
             .facts = {.config_path = options.config_path,
                       .engine_socket = config.ipc.socket,
                       .admin_socket = config.ipc.admin_socket,
                       .private_directory = options.private_directory,
                       .probes_address = {},
                       .hooks_address = {},
                       .ingress_address = {}},
             .warnings = settings_.warnings(),
             .readiness =
                 [this] {
                   return readiness_of(core_.snapshot(),
                                       settings_.config().probes.readiness_on_stop,
                                       registration_.registries().were_all_registered());
                 }},
      ending_(io, {.say_goodbye = [this] { peers_.operators().end(); },
                   .report_is_final = [this] { return !report_.is_open(); },
                   .close =
                       [this] {
                         peers_.server().close_all();
                         ingress_.end();
                       },
                   .is_flushed =
                       [this] { return ingress_.try_to_part() && peers_.server().is_flushed(); },
                   .is_alone = [this] { return peers_.orphan().is_settled(); },
                   .stop =
                       [this, &io] {
                         hook_calls_.stop();
                         probes_.stop();
                         io.stop();
                       }}) {
  if (options.shows_status) {
    probes_.serve_status(shown_);
  }
  peers_.sdks().listen(sdk_listeners(peers_, engine_, registration_, probes_));
  records_.starts(core_.settings());
  loop_.set_watch([this](lifecycle::Event const& event, auto began, auto ended) {
    records_.took(event_log::name(event), began, ended);
  });
  loop_.set_observer([this](lifecycle::Instant now, lifecycle::Event const& event,
                            std::span<lifecycle::Action const> actions) {
    records_.step_made();
    memory_.provide(now, actions);
    // The state is published before it is logged or answered, so that nobody who has read of a
    // phase finds the one before it.
    if (std::ranges::any_of(actions, is_shown_at_probes)) {
      probes_.publish(shown_);
    }
    records_.step(now, event, actions);
    requests_.send_ahead(event, actions);
    if (core_.is_restarting()) {
      refresh_.request();  // its stages change readiness without an order
    }
    probes_.metrics().admission().set_requests(core_.admission().running(),
                                               core_.admission().waiting());
    probes_.metrics().cancels().set_unconfirmed(core_.requests().unconfirmed());
  });
}

std::string Supervisor::problem() const {
  std::string const problem = engine_.problem();
  return problem.empty() ? registration_.problem() : problem;
}

std::string Supervisor::start() {
  if (std::string const problem = probes_.start(); !problem.empty()) {
    return problem;
  }
  if (auto const problem = peers_.server().listen()) {
    probes_.stop();
    return *problem;
  }
  if (std::string const problem = hook_calls_.start(); !problem.empty()) {
    peers_.server().close_all();
    probes_.stop();
    return problem;
  }
  if (std::string const problem = ingress_.start(); !problem.empty()) {
    hook_calls_.stop();
    peers_.server().close_all();
    probes_.stop();
    return problem;
  }
  ServeFacts& facts = shown_.facts;
  facts.probes_address = probes_.address();
  facts.ingress_address = ingress_.address();
  facts.hooks_address = hook_calls_.address();
  log_.info("lastcall serves", {{"version", LASTCALL_VERSION},
                                {"config", facts.config_path},
                                {"socket", facts.engine_socket},
                                {"admin_socket", facts.admin_socket},
                                {"probes", facts.probes_address},
                                {"hooks", facts.hooks_address},
                                {"ingress", facts.ingress_address}});
  for (std::string const& warning : settings_.warnings()) {
    log_.warning(warning);
  }
  loop_.feed(lifecycle::SupervisorStarted{});
  if (auto const blob = memory_.read()) {
    loop_.feed(lifecycle::StopRecordRead{*blob});
  }
  shim_watch_.start();
  probes_.metrics().lifecycle().set_phase(core_.snapshot().phase);
  lifecycle::Settings const& settings = core_.settings();
  probes_.metrics().lifecycle().set_grace(
      lifecycle::budgets_within(settings.shutdown, settings.pod_grace).total);
  refresh_.run_now();
  signals_.release();
  return {};
}

// --- orders --------------------------------------------------------------------------------------

void Supervisor::obey(lifecycle::Instant now, lifecycle::Action const& action) {
  namespace act = lifecycle;
  if (auto const* const order = std::get_if<act::SignalEngine>(&action)) {
    peers_.shim().signal_engine(*order);
  }
  records_.action(now, action);
  std::visit(
      Overloaded{
          // The first three were carried out before anything was reported.
          [](act::Remember const&) {}, [](act::LeaveWill const&) {},
          [](act::SignalEngine const&) {}, [&](act::ForgetStopRecord const&) { memory_.forget(); },
          [&](act::StartEngine const&) { peers_.shim().send(ipc::EngineStart{}); },
          [&](act::RunChecks const&) { engine_.health().run_now(); },
          [&](act::ExitShim const& order) { report_.end_shim(order.code); },
          [&](act::AnnouncePhase const& order) {  // the shim was notified earlier
            peers_.sdks().broadcast(ipc::PhaseChange{order.phase, order.deadline});
            ingress_.phase(order.phase);
          },
          [&](act::CancelsReady const& order) { requests_.cancels_ready(order); },
          [&](act::Admit const& order) { requests_.admit(order); },
          [&](act::Reject const& order) { requests_.reject(order); },
          [&](act::ForgetPeer const& order) {
            registration_.registries().sdks().peer_gone(order.peer);
            peers_.sdks().forget(order.peer);
          },
          [&](act::ReleaseHook const& order) { hook_calls_.release(order); },
          [&](act::AwaitReplacement const& order) { hook_calls_.await(order); },
          [&](act::ReplacementEnded const&) { hook_calls_.replacement_ended(); },
          [&](act::DeletionDisproved const&) {
            hook_calls_.disproved();
            ingress_.phase(core_.snapshot().phase);  // it may listen again
          },
          [&](act::AskToken const& order) { engine_.token().ask(order); },
          [&](act::WithdrawToken const&) { engine_.token().withdraw(); },
          [&](act::Register const&) { registration_.registries().register_all(); },
          [&](act::Deregister const& order) {
            registration_.registries().deregister(order.deadline, order.returns);
          },
          [&](act::StartCleanup const& order) { cleanup_.start(order); },
          [&](act::PublishReport const&) {
            report_.publish(now, registration_.registries().names());
          },
          [&](act::Rearm const&) { rearm(); }, [&](act::LeaveIngress const&) { ingress_.leave(); },
          [&](act::ExitSupervisor const& order) { end(order.code); },
          // The loop handles answers; notes have been counted and reported above.
          [](act::Refuse const&) {}, [](act::Answer const&) {}, [](act::StopBegun const&) {},
          [](act::SignalIgnored const&) {}, [](act::DrainAborted const&) {},
          [](act::PhaseBegun const&) {}, [](act::PhaseEnded const&) {},
          [](act::GracefulEndpoints const&) {}, [](act::LastEndpointCompleted const&) {},
          [](act::VerdictChanged const&) {},
          [&](act::RequestSettled const&) { peers_.operators().changed(); },
          [](act::BusyChanged const&) {}, [](act::CancelCounted const&) {},
          [](act::CancelSettled const&) {}},
      action);
  if (changes_what_is_shown(action)) {
    refresh_.request();
  }
}

void Supervisor::rearm() {
  cleanup_.cancel();
  report_.forget();
  peers_.sdks().rearm();
  registration_.registries().begin_life();
}

/// Nothing is begun any more.
void Supervisor::end(int code) {
  loop_.halt();
  engine_.end();
  cleanup_.cancel();
  peers_.orphan().end_if_adopted();
  ending_.begin(code);
}

// --- what is shown -------------------------------------------------------------------------------

void Supervisor::refresh() {
  lifecycle::Snapshot const snapshot = core_.snapshot();
  shim_watch_.update(snapshot);
  engine_.update(snapshot);
  ingress_.refresh();
  probes_.beat_by_itself(!engine_.health().is_running());
  probes_.publish(shown_);
  peers_.operators().changed();
}

}  // namespace lastcall::runtime
