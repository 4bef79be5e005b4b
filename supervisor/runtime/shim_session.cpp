#include "supervisor/runtime/shim_session.hpp"

#include <utility>

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
          .stop_at = shim.stop_at,
          .blob = shim.blob};
}

}  // namespace

ipc::Welcome welcome_of(lifecycle::Lifecycle const& core) {
  lifecycle::Settings const& settings = core.settings();
  lifecycle::Budgets const budgets =
      lifecycle::budgets_within(settings.shutdown, settings.pod_grace);
  return {.phase = core.snapshot().phase,
          .grace = budgets.total,
          .budgets = {.deregister = budgets.deregister_timeout,
                      .late_accept = budgets.late_accept,
                      .cleanup_reserve = budgets.reserve,
                      .cancel_settle = budgets.settle}};
}

void ShimSession::hello(ipc::PeerId peer, ipc::Hello&& hello) {
  ipc::ShimFacts const& shim = *hello.shim;
  if (!core_.accepts_shim(shim.boot) || (peer_ != 0 && shim.boot != boot_)) {
    server_.refuse(peer, ipc::ErrorCode::busy,
                   "another shim is connected, or its stop is not finished: try again");
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
  greeting_ = true;
  events_.feed(fact_of(shim));
  greeting_ = false;
  server_.welcome(peer, welcome_of(core_));
  for (ipc::FromSupervisor const& message : std::exchange(after_welcome_, {})) {
    server_.send(peer, message);
  }
}

void ShimSession::tell(ipc::FromSupervisor const& message) {
  if (peer_ == 0) {
    return;
  }
  if (greeting_) {
    after_welcome_.push_back(message);
  } else {
    server_.send(peer_, message);
  }
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
  log_.write(exited.ordered ? LogLevel::info : LogLevel::warning, "engine exited",
             {{"code", exited.code},
              {"signal", exited.signal},
              {"oom", exited.oom},
              {"ordered", exited.ordered}});
  events_.feed(lifecycle::EngineExited{.exit = {.code = exited.code.value_or(0),
                                                .signal = exited.signal.value_or(0),
                                                .oom = exited.oom},
                                       .ordered = exited.ordered});
}

void ShimSession::disconnected(ipc::PeerId peer, std::string_view why) {
  if (peer != peer_) {
    return;
  }
  peer_ = 0;
  ipc::PeerInfo const* const info = server_.info(peer);
  bool const is_watched = watched_ == peer && info != nullptr && info->watched;
  bool const oom = oom_.has_struck();
  log_.warning("shim disconnected", {{"why", why}, {"process_watched", is_watched}, {"oom", oom}});
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
  log_.warning("the shim's process is gone", {{"boot", boot_}, {"oom", oom}});
  watched_ = 0;
  peer_ = 0;
  server_.forget(peer);
  events_.feed(lifecycle::ShimGone{.oom = oom});
}

}  // namespace lastcall::runtime
