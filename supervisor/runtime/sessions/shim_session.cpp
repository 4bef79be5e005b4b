#include "supervisor/runtime/sessions/shim_session.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/words.hpp"

namespace lastcall::runtime {
namespace {

lifecycle::EngineState state_of(ipc::EngineState state) {
  switch (state) {
    case ipc::EngineState::waiting:
      return lifecycle::EngineState::waiting;
    case ipc::EngineState::running:
      return lifecycle::EngineState::running;
    case ipc::EngineState::exited:
      return lifecycle::EngineState::exited;
  }
  return lifecycle::EngineState::waiting;
}

std::optional<std::uint32_t> alive_of(std::optional<std::uint64_t> reported) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  return reported ? std::optional(static_cast<std::uint32_t>(std::min(*reported, kMost)))
                  : std::nullopt;
}

lifecycle::ShimHello fact_of(ipc::ShimFacts const& shim) {
  return {.boot = shim.boot,
          .run = shim.run,
          .engine = state_of(shim.engine.state),
          .exit = {.code = shim.engine.code.value_or(0),
                   .signal = shim.engine.signal.value_or(0),
                   .oom = shim.engine.oom},
          .started_at = shim.engine.started_at,
          .exited_at = shim.engine.exited_at,
          .ordered = shim.engine.ordered,
          .alive = alive_of(shim.engine.alive),
          .stop_at = shim.stop_at,
          .blob = shim.blob};
}

}  // namespace

ipc::Welcome welcome_of(lifecycle::Lifecycle const& core) {
  lifecycle::Settings const& settings = core.settings();
  lifecycle::Budgets const budgets = lifecycle::with_room_for_cleanup(
      lifecycle::budgets_within(settings.shutdown, settings.pod_grace), settings.cleanup_hooks);
  return {.phase = core.snapshot().phase,
          .grace = budgets.total,
          .budgets = {.deregister = budgets.deregister_timeout,
                      .late_accept = budgets.late_accept,
                      .cleanup_reserve = budgets.reserve,
                      .cancel_settle = budgets.settle},
          .rest_grace = settings.rest_grace};
}

void ShimSession::hello(ipc::PeerId peer, ipc::Hello&& hello) {
  ipc::ShimFacts const& shim = *hello.shim;
  if (!core_.accepts_shim(shim.boot) || (peer_ != 0 && shim.boot != boot_)) {
    server_.refuse(peer, ipc::ErrorCode::busy,
                   "another shim is connected, or its stop has not finished: try again");
    return;
  }
  for (ipc::PeerId const old : {peer_, watched_}) {
    if (old != 0) {
      server_.forget(old);
    }
  }
  peer_ = watched_ = peer;
  boot_ = shim.boot;
  run_ = shim.run;
  engine_ = shim.engine;
  oom_.watch(server_.take_passed(peer));
  log_.info("shim connected", {{"boot", boot_},
                               {"run", run_},
                               {"engine", ipc::name(engine_.state)},
                               {"engine_pid", engine_.pid},
                               {"holds_stop", shim.stop_at.has_value()}});
  owes_welcome_ = true;
  events_.feed(fact_of(shim));
  welcome_once();
}

void ShimSession::welcome_once() {
  if (std::exchange(owes_welcome_, false)) {
    server_.welcome(peer_, welcome_of(core_));
  }
}

void ShimSession::send(ipc::FromSupervisor const& message) {
  if (peer_ == 0) {
    return;
  }
  welcome_once();
  server_.send(peer_, message);
}

void ShimSession::signal_engine(lifecycle::SignalEngine const& order) {
  send(ipc::EngineSignal{order.name, order.all ? ipc::SignalScope::all : ipc::SignalScope::main});
  server_.flush();
}

void ShimSession::message(ipc::PeerId peer, ipc::ToSupervisor&& message, ipc::Seq seq) {
  if (peer != peer_) {
    return;
  }
  if (auto const* signal = std::get_if<ipc::Signal>(&message)) {
    log_.info("stop signal", {{"signal", signal->name}, {"from", "shim"}});
    events_.feed(lifecycle::StopSignalHeld{signal->name, signal->at});
  } else if (auto const* started = std::get_if<ipc::EngineStarted>(&message)) {
    engine_ = {.state = ipc::EngineState::running, .pid = started->pid, .started_at = started->at};
    log_.info("engine started", {{"pid", started->pid}});
    events_.feed(lifecycle::EngineStarted{});
  } else if (auto const* exited = std::get_if<ipc::EngineExited>(&message)) {
    engine_exited(*exited);
  } else if (auto const* tree = std::get_if<ipc::EngineTree>(&message)) {
    log_.info(tree->alive > 0 ? "processes of the engine are left"
                              : "no process of the engine is "
                                "left",
              {{"alive", tree->alive}, {"names", joined(tree->names, ", ")}});
    events_.feed(lifecycle::EngineTreeSeen{.alive = *alive_of(tree->alive), .names = tree->names});
  } else if (auto const* died = std::get_if<ipc::EngineDied>(&message)) {
    process_died(*died);
  } else if (auto const* stopped = std::get_if<ipc::EngineStopped>(&message)) {
    log_.warning("a process of the engine is stopped",
                 {{"name", stopped->name}, {"pid", stopped->pid}});
    events_.feed(lifecycle::EngineProcessStopped{.pid = stopped->pid, .name = stopped->name});
  } else if (auto const* error = std::get_if<ipc::Error>(&message)) {
    log_.warning("the shim refused an order",
                 {{"code", ipc::name(error->code)}, {"detail", error->message}});
    return;
  } else if (std::holds_alternative<ipc::Ack>(message)) {
    return;
  }
  server_.ack(peer, seq);
}

void ShimSession::engine_exited(ipc::EngineExited const& exited) {
  engine_.state = ipc::EngineState::exited;
  engine_.code = exited.code;
  engine_.signal = exited.signal;
  engine_.oom = exited.oom;
  engine_.ordered = exited.ordered;
  engine_.exited_at = exited.at;
  log_.write(exited.ordered ? telemetry::LogLevel::info : telemetry::LogLevel::warning,
             "engine exited",
             {{"code", exited.code},
              {"signal", exited.signal},
              {"oom", exited.oom},
              {"ordered", exited.ordered}});
  events_.feed(lifecycle::EngineExited{.exit = {.code = exited.code.value_or(0),
                                                .signal = exited.signal.value_or(0),
                                                .oom = exited.oom},
                                       .ordered = exited.ordered,
                                       .alive = alive_of(exited.alive),
                                       .at = exited.at});
}

/// After a stop signal of the supervisor, this end is expected.
void ShimSession::process_died(ipc::EngineDied const& died) {
  log_.write(died.ordered ? telemetry::LogLevel::debug : telemetry::LogLevel::warning,
             died.ordered ? "a process of the engine ended before the main process"
                          : "a process of the engine ended by itself",
             {{"name", died.name}, {"pid", died.pid}, {"signal", died.signal}});
  events_.feed(lifecycle::EngineProcessDied{.pid = died.pid,
                                            .name = died.name,
                                            .signal = died.signal.value_or(0),
                                            .at = died.at,
                                            .alive = alive_of(died.alive),
                                            .names = died.names});
}

/// A shim has nothing left to do once its engine has exited, so its end is then expected.
telemetry::LogLevel ShimSession::level_of_end(bool oom) const {
  bool const is_due = engine_.state == ipc::EngineState::exited && !oom;
  return is_due ? telemetry::LogLevel::info : telemetry::LogLevel::warning;
}

void ShimSession::disconnected(ipc::PeerId peer, std::string_view why) {
  if (peer != peer_) {
    return;
  }
  peer_ = 0;
  ipc::PeerInfo const* const info = server_.info(peer);
  bool const is_watched = watched_ == peer && info != nullptr && info->watched;
  bool const oom = oom_.has_struck();
  log_.write(level_of_end(oom), "shim disconnected",
             {{"why", why}, {"process_watched", is_watched}, {"oom", oom}});
  if (!is_watched) {
    watched_ = 0;
    server_.forget(peer);
  }
  events_.feed(lifecycle::ShimDisconnected{.watched = is_watched, .oom = oom});
}

void ShimSession::process_gone(ipc::PeerId peer) {
  if (peer != watched_) {
    return;
  }
  bool const oom = oom_.has_struck();
  log_.write(level_of_end(oom), "the shim's process is gone", {{"boot", boot_}, {"oom", oom}});
  watched_ = 0;
  peer_ = 0;
  server_.forget(peer);
  events_.feed(lifecycle::ShimGone{.oom = oom});
}

}  // namespace lastcall::runtime
