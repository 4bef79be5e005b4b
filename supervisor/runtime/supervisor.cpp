// Construction, routing of what is received, and the end; the orders are in supervisor_obey.cpp.
#include "supervisor/runtime/supervisor.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "ingress/request_id.hpp"
#include "supervisor/runtime/record/event_log.hpp"
#include "supervisor/runtime/settings.hpp"

namespace lastcall::runtime {
namespace {

std::optional<std::string> advertise_of(config::Config const& config) {
  return config::resolve_advertise(config, config::process_environment()("POD_IP"));
}

bool is_shown_at_probes(lifecycle::Action const& action) {
  return std::holds_alternative<lifecycle::PhaseBegun>(action) ||
         std::holds_alternative<lifecycle::VerdictChanged>(action);
}

}  // namespace

Supervisor::Supervisor(boost::asio::io_context& io, config::Config const& config,
                       ServeOptions const& options, Log& log)
    : io_(io),
      log_(log),
      facts_{.config_path = options.config_path,
             .engine_socket = config.ipc.socket,
             .admin_socket = config.ipc.admin_socket,
             .private_directory = options.private_directory,
             .probes_address = {},
             .hooks_address = {},
             .ingress_address = {}},
      core_(settings_from(config, options.grace)),
      loop_(io, core_,
            [this](lifecycle::Instant now, lifecycle::Action const& action) { obey(now, action); }),
      settings_(config, options.warnings, options.load, core_, loop_, log,
                {.read_again =
                     [this] {
                       peers_.server().follow_sockets();
                       changed();
                     },
                 .changed = [this] { changed(); }}),
      probes_(io, config,
              {.thresholds =
                   [this](probes::ThresholdCall const& call) {
                     return settings_.thresholds_over_http(call);
                   },
               .orders =
                   [this](HttpOrder order, std::string const& caller) {
                     return order_over_http(order, caller, peers_.operators(), core_);
                   },
               .beat = [this] { peers_.server().follow_sockets(); }},
              log),
      records_(io.get_executor(), config, instance_of(config, advertise_of(config)), core_,
               probes_.metrics(), log),
      peers_(io, config, core_, loop_,
             {.records = records_, .registration = registration_, .hook_calls = hook_calls_},
             probes_.metrics(), log, operator_answers(),
             {.engine_exited =
                  [this](ipc::EngineExited const& exited) { report_.engine_exited(exited); },
              .changed = [this] { changed(); }}),
      memory_(config.ipc.admin_socket, core_, peers_.server(), peers_.shim(), log),
      report_(io, core_, peers_.shim(), records_.narrator(), log,
              [this](std::string const& report, lifecycle::Instant now) {
                probes_.reported(report, now);
              }),
      shim_watch_(io, !config.lifecycle.enabled, config.ipc.socket, log, shim_watch_callbacks()),
      ingress_(io, settings_.config(), core_, loop_, probes_.metrics(), log, ingress_listeners(),
               [this](std::size_t most, std::size_t ids) {
                 records_.cancels_taken(lifecycle::kIngressPeer, most, ids);
               }),
      requests_(loop_, peers_.server(), peers_.sdks(), ingress_),
      engine_(io.get_executor(), config, core_, loop_, log, ingress::RequestIds().make(),
              engine_callbacks()),
      registration_(io.get_executor(), config, advertise_of(config), core_, loop_, peers_.server(),
                    peers_.sdks(), probes_.metrics(), log, [this] { changed(); }),
      cleanup_(
          io.get_executor(), config.cleanup,
          {facts_.engine_socket, facts_.admin_socket, memory_.path(), facts_.private_directory},
          loop_, log, other_items()),
      hook_calls_(io.get_executor(), config, loop_, probes_.metrics(), log),
      signals_(io, [this](std::string const& name) { own_signal(name); }) {
  if (options.shows_status) {
    probes_.serve_status([this] { return sources(); });
  }
  peers_.sdks().listen(sdk_listeners());
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
      probes_.publish(sources());
    }
    records_.step(now, event, actions);
    requests_.send_ahead(event, actions);
    if (core_.is_restarting()) {
      changed();  // its stages change readiness without an order
    }
    probes_.metrics().set_admission(core_.admission().running(), core_.admission().waiting());
    probes_.metrics().set_cancels_unconfirmed(core_.requests().unconfirmed());
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
  facts_.probes_address = probes_.address();
  facts_.ingress_address = ingress_.address();
  facts_.hooks_address = hook_calls_.address();
  log_.info("lastcall serves", {{"version", LASTCALL_VERSION},
                                {"config", facts_.config_path},
                                {"socket", facts_.engine_socket},
                                {"admin_socket", facts_.admin_socket},
                                {"probes", facts_.probes_address},
                                {"hooks", facts_.hooks_address},
                                {"ingress", facts_.ingress_address}});
  for (std::string const& warning : settings_.warnings()) {
    log_.warning(warning);
  }
  loop_.feed(lifecycle::SupervisorStarted{});
  if (auto const blob = memory_.read()) {
    loop_.feed(lifecycle::StopRecordRead{*blob});
  }
  shim_watch_.start();
  probes_.metrics().set_phase(core_.snapshot().phase);
  lifecycle::Settings const& settings = core_.settings();
  probes_.metrics().set_grace(
      lifecycle::budgets_within(settings.shutdown, settings.pod_grace).total);
  refresh();
  return {};
}

// --- what is shown -------------------------------------------------------------------------------

void Supervisor::changed() {
  if (!std::exchange(refresh_is_due_, true)) {
    boost::asio::post(io_, [this] { refresh(); });
  }
}

void Supervisor::refresh() {
  refresh_is_due_ = false;
  lifecycle::Snapshot const snapshot = core_.snapshot();
  shim_watch_.update(snapshot);
  engine_.update(snapshot);
  ingress_.refresh();
  probes_.beat_by_itself(!engine_.health().is_running());
  probes_.publish(sources());
  peers_.operators().changed();
}

StatusSources Supervisor::sources() {
  return {.core = core_,
          .server = peers_.server(),
          .shim = peers_.shim(),
          .shim_watch = shim_watch_,
          .sdks = peers_.sdks(),
          .health = engine_.health(),
          .registries = registration_.registries(),
          .facts = facts_,
          .warnings = settings_.warnings(),
          .readiness = [this] {
            return readiness_of(core_.snapshot(), settings_.config().probes.readiness_on_stop,
                                registration_.registries().were_all_registered());
          }};
}

}  // namespace lastcall::runtime
