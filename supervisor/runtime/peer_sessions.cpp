#include "supervisor/runtime/peer_sessions.hpp"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/descriptor_limit.hpp"
#include "supervisor/runtime/host/descriptor_shares.hpp"

namespace lastcall::runtime {
namespace {

std::vector<uid_t> uids_of(std::vector<std::uint32_t> const& uids) {
  return {uids.begin(), uids.end()};
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

}  // namespace

PeerSessions::PeerSessions(boost::asio::io_context& io, config::Config const& config,
                           lifecycle::Lifecycle& core, EventSink& events, Parts parts,
                           probes::Metrics& metrics, telemetry::Log& log,
                           OperatorSessions::Answers answers, Callbacks callbacks)
    : core_(core),
      parts_(parts),
      log_(log),
      callbacks_(std::move(callbacks)),
      metrics_(metrics),
      server_(io, server_options(config), *this),
      shim_(server_, core, events, log),
      sdks_(server_, core, events, log),
      gone_peers_(io, [this](ipc::PeerId peer) { sdk_gone(peer); }),
      orphan_(io, log),
      operators_(io, server_, events, log, std::move(answers)) {}

PeerSessions::~PeerSessions() = default;

void PeerSessions::hello(ipc::PeerId peer, ipc::Hello&& hello) {
  switch (hello.role) {
    case ipc::Role::shim:
      if (core_.accepts_shim(hello.shim->boot)) {
        metrics_.shim_greets(shim_.boot(), *hello.shim);
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
  callbacks_.changed();
}

void PeerSessions::message(ipc::PeerId peer, ipc::ToSupervisor&& message, ipc::Seq seq) {
  ipc::PeerInfo const* const info = server_.info(peer);
  if (info == nullptr) {
    return;
  }
  switch (info->role) {
    case ipc::Role::shim:
      metrics_.shim_reports(message);
      if (auto const* exited = std::get_if<ipc::EngineExited>(&message)) {
        callbacks_.engine_exited(*exited);
      }
      shim_.message(peer, std::move(message), seq);
      watch_engine(peer);
      callbacks_.changed();
      return;
    case ipc::Role::engine:
      sdks_.message(peer, std::move(message), seq);
      parts_.registration.registries()
          .sdks()
          .peers_may_be_back();  // this may be the last thing that they announce
      return;
    case ipc::Role::operator_:
      operators_.message(peer, std::move(message), seq);
      return;
    case ipc::Role::hook:
      if (auto const* call = std::get_if<ipc::Prestop>(&message)) {
        parts_.hook_calls.called(server_, peer, *call, seq);
      }
      return;
  }
}

void PeerSessions::disconnected(ipc::PeerId peer, std::string_view why) {
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
  callbacks_.changed();
}

void PeerSessions::process_gone(ipc::PeerId peer) {
  ipc::PeerInfo const* const info = server_.info(peer);
  if (info != nullptr && info->role == ipc::Role::shim) {
    orphan_.end();
    shim_.process_gone(peer);
    gone_peers_.release();
  } else if (info != nullptr && info->role == ipc::Role::engine) {
    parts_.registration.registries().sdks().peer_gone(peer);
    bool const engine_may_be_gone = core_.snapshot().engine == lifecycle::EngineState::running &&
                                    core_.requests().of_peer(peer) > 0;
    if (engine_may_be_gone) {
      gone_peers_.hold(
          peer, sdks_.peers().is_critical(peer) ? GonePeers::kHoldCritical : GonePeers::kHold);
    } else {
      gone_peers_.report(peer);
    }
  }
  count_peers();
  callbacks_.changed();
}

void PeerSessions::sdk_gone(ipc::PeerId peer) {
  sdks_.process_gone(peer);
  count_peers();
  callbacks_.changed();
}

std::size_t PeerSessions::next_cancels(ipc::PeerId peer, ipc::CancelBatch& batch) {
  std::size_t const count = sdks_.next_cancels(peer, batch);
  parts_.records.cancels_taken(peer, ipc::kMaxBatch, count);
  return count;
}

void PeerSessions::trouble(std::string_view what) {
  log_.warning(what);
}

void PeerSessions::watch_engine(ipc::PeerId shim) {
  if (core_.snapshot().engine != lifecycle::EngineState::running) {
    gone_peers_.release();
  }
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

void PeerSessions::error_sent(ipc::ErrorCode code) {
  metrics_.error_sent(code);
}

void PeerSessions::peer_dropped(ipc::Drop why) {
  metrics_.dropped(why);
}

void PeerSessions::count_peers() {
  metrics_.connected(shim_.is_connected(), sdks_.peers().connected().size(), operators_.count());
}

}  // namespace lastcall::runtime
