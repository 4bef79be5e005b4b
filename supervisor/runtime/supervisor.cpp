// Construction, routing of what is received, and the end; the orders are in supervisor_obey.cpp.
#include "supervisor/runtime/supervisor.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "base/descriptor_limit.hpp"
#include "ingress/request_id.hpp"
#include "supervisor/runtime/host/descriptor_shares.hpp"
#include "supervisor/runtime/record/event_log.hpp"
#include "supervisor/runtime/settings.hpp"

namespace lastcall::runtime {
namespace {

std::vector<uid_t> uids_of(std::vector<std::uint32_t> const& uids) {
  return {uids.begin(), uids.end()};
}

std::optional<std::string> advertise_of(config::Config const& config) {
  return config::resolve_advertise(config, config::process_environment()("POD_IP"));
}

/// One process may have a quarter of the places, so that it cannot lock out the others.
ipc::ServerOptions server_options(config::Config const& config) {
  DescriptorShares const shares = descriptor_shares(descriptor_limit(), config.ingress.threads);
  return {.engine_socket = config.ipc.socket,
          .admin_socket = config.ipc.admin_socket,
          .mode = config.ipc.mode,
          .allow_uids = uids_of(config.ipc.allow_uids.listed),
          .allow_any_uid = config.ipc.allow_uids.any,
          .max_connections = shares.sessions,
          .max_admin_connections = shares.operators,
          .max_of_process = std::max<std::size_t>(shares.sessions / 4, 4),
          .max_admin_of_process = std::max<std::size_t>(shares.operators / 4, 2)};
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
                       server_.follow_sockets();
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
                     return order_over_http(order, caller, operators_, core_);
                   },
               .beat = [this] { server_.follow_sockets(); }},
              log),
      records_(io.get_executor(), config, instance_of(config, advertise_of(config)), core_,
               probes_.metrics(), log),
      server_(io, server_options(config), *this),
      shim_(server_, core_, loop_, log),
      memory_(config.ipc.admin_socket, core_, server_, shim_, log),
      report_(io, core_, shim_, records_.narrator(), log,
              [this](std::string const& report, lifecycle::Instant now) {
                probes_.reported(report, now);
              }),
      shim_watch_(io, !config.lifecycle.enabled, config.ipc.socket, log, shim_watch_callbacks()),
      sdks_(server_, core_, loop_, log),
      ingress_(io, settings_.config(), core_, loop_, probes_.metrics(), log, ingress_listeners(),
               [this](std::size_t most, std::size_t ids) {
                 records_.cancels_taken(lifecycle::kIngressPeer, most, ids);
               }),
      requests_(loop_, server_, sdks_, ingress_),
      gone_peers_(io, [this](ipc::PeerId peer) { sdk_gone(peer); }),
      orphan_(io, log),
      operators_(io, server_, loop_, log, operator_answers()),
      engine_(io.get_executor(), config, core_, loop_, log, ingress::RequestIds().make(),
              engine_callbacks()),
      registries_(io.get_executor(), config, advertise_of(config), loop_, log,
                  registry_callbacks()),
      cleanup_(
          io.get_executor(), config.cleanup,
          {facts_.engine_socket, facts_.admin_socket, memory_.path(), facts_.private_directory},
          loop_, log, other_items()),
      hook_calls_(io.get_executor(), config, loop_, probes_.metrics(), log),
      signals_(io, [this](std::string const& name) { own_signal(name); }) {
  if (options.shows_status) {
    probes_.serve_status([this] { return sources(); });
  }
  sdks_.listen(sdk_listeners());
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

Supervisor::~Supervisor() = default;

std::string Supervisor::problem() const {
  std::string const problem = engine_.problem();
  return problem.empty() ? registries_.problem() : problem;
}

std::string Supervisor::start() {
  if (std::string const problem = probes_.start(); !problem.empty()) {
    return problem;
  }
  if (auto const problem = server_.listen()) {
    probes_.stop();
    return *problem;
  }
  if (std::string const problem = hook_calls_.start(); !problem.empty()) {
    server_.close_all();
    probes_.stop();
    return problem;
  }
  if (std::string const problem = ingress_.start(); !problem.empty()) {
    hook_calls_.stop();
    server_.close_all();
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

// --- what is received ----------------------------------------------------------------------------

void Supervisor::hello(ipc::PeerId peer, ipc::Hello&& hello) {
  switch (hello.role) {
    case ipc::Role::shim:
      if (core_.accepts_shim(hello.shim->boot)) {
        count_restarts(*hello.shim);
      }
      shim_.hello(peer, std::move(hello));
      watch_engine(peer);
      break;
    case ipc::Role::engine:
      sdks_.hello(peer, std::move(hello));
      break;
    case ipc::Role::operator_:
      operators_.hello(peer, std::move(hello));
      break;
    case ipc::Role::hook:
      server_.welcome(peer, welcome_of(core_));
      break;
  }
  count_peers();
  changed();
}

void Supervisor::message(ipc::PeerId peer, ipc::ToSupervisor&& message, ipc::Seq seq) {
  ipc::PeerInfo const* const info = server_.info(peer);
  if (info == nullptr) {
    return;
  }
  switch (info->role) {
    case ipc::Role::shim:
      if (auto const* signal = std::get_if<ipc::Signal>(&message)) {
        probes_.metrics().signal_received(signal->name);
      } else if (auto const* exited = std::get_if<ipc::EngineExited>(&message)) {
        probes_.metrics().oom_kills(exited->oom ? 1 : 0);
        report_.engine_exited(*exited);
      } else if (std::holds_alternative<ipc::EngineStarted>(message) &&
                 std::exchange(engine_has_run_, true)) {
        probes_.metrics().restarted(probes::Restarted::engine);
      }
      shim_.message(peer, std::move(message), seq);
      watch_engine(peer);
      changed();
      return;
    case ipc::Role::engine:
      sdks_.message(peer, std::move(message), seq);
      registries_.peers_may_be_back();  // this may be the last thing that they announce
      return;
    case ipc::Role::operator_:
      operators_.message(peer, std::move(message), seq);
      return;
    case ipc::Role::hook:
      if (auto const* call = std::get_if<ipc::Prestop>(&message)) {
        prestop(peer, *call, seq);
      }
      return;
  }
}

/// Handles a call of a hook of kind exec.
void Supervisor::prestop(ipc::PeerId peer, ipc::Prestop const& call, ipc::Seq seq) {
  if (!seq) {
    return server_.error(peer, seq, ipc::ErrorCode::bad_field,
                         "seq: expected, because the call returns with the answer");
  }
  if (!hook_calls_.takes_calls()) {
    return server_.error(peer, seq, ipc::ErrorCode::not_allowed,
                         "lifecycle.enabled is false: no preStop call is accepted");
  }
  auto const hook =
      call.container == ipc::Container::engine ? probes::Hook::engine : probes::Hook::supervisor;
  hook_calls_.called(hook, "uid " + std::to_string(server_.info(peer)->uid),
                     [this, peer, seq](std::string_view why, lifecycle::Duration held) {
                       server_.ack(peer, seq, probes::hook_result(why, held));
                     });
}

void Supervisor::disconnected(ipc::PeerId peer, std::string_view why) {
  if (ipc::PeerInfo const* const info = server_.info(peer)) {
    switch (info->role) {
      case ipc::Role::shim:
        shim_.disconnected(peer, why);
        break;
      case ipc::Role::engine:
        sdks_.disconnected(peer, why);
        break;
      case ipc::Role::operator_:
        operators_.disconnected(peer);
        break;
      case ipc::Role::hook:
        server_.forget(peer);  // its call stays: a caller that dies undoes nothing
        break;
    }
  }
  count_peers();
  changed();
}

void Supervisor::process_gone(ipc::PeerId peer) {
  ipc::PeerInfo const* const info = server_.info(peer);
  if (info != nullptr && info->role == ipc::Role::shim) {
    orphan_.end();
    shim_.process_gone(peer);
    gone_peers_.release();
  } else if (info != nullptr && info->role == ipc::Role::engine) {
    registries_.peer_gone(peer);
    bool const engine_may_be_gone = core_.snapshot().engine == lifecycle::EngineState::running &&
                                    core_.requests().of_peer(peer) > 0;
    if (engine_may_be_gone) {
      gone_peers_.hold(peer, sdks_.is_critical(peer) ? GonePeers::kHoldCritical : GonePeers::kHold);
    } else {
      sdk_gone(peer);
    }
  }
  count_peers();
  changed();
}

void Supervisor::sdk_gone(ipc::PeerId peer) {
  sdks_.process_gone(peer);
  count_peers();
  changed();
}

std::size_t Supervisor::next_cancels(ipc::PeerId peer, ipc::CancelBatch& batch) {
  std::size_t const count = sdks_.next_cancels(peer, batch);
  records_.cancels_taken(peer, ipc::kMaxBatch, count);
  return count;
}

void Supervisor::trouble(std::string_view what) {
  log_.warning(what);
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
  operators_.changed();
}

Readiness Supervisor::readiness() const {
  return readiness_of(core_.snapshot(), settings_.config().probes.readiness_on_stop,
                      registries_.were_all_registered());
}

StatusSources Supervisor::sources() {
  return {.core = core_,
          .server = server_,
          .shim = shim_,
          .shim_watch = shim_watch_,
          .sdks = sdks_,
          .health = engine_.health(),
          .registries = registries_,
          .facts = facts_,
          .warnings = settings_.warnings(),
          .readiness = [this] { return readiness(); }};
}

}  // namespace lastcall::runtime
