// Carries out the orders of the core.
#include <algorithm>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "base/overloaded.hpp"
#include "supervisor/runtime/listener/metrics_feed.hpp"
#include "supervisor/runtime/loop/poll_until.hpp"
#include "supervisor/runtime/record/report.hpp"
#include "supervisor/runtime/supervisor.hpp"

namespace lastcall::runtime {
namespace {

constexpr lifecycle::Duration kBetweenLooks{100};  // for a reader of the log
constexpr lifecycle::Duration kExitTakes{300};
constexpr lifecycle::Duration kReaderIsAway{5'000};

}  // namespace

void Supervisor::signal_engine(lifecycle::SignalEngine const& order) {
  shim_.send(
      ipc::EngineSignal{order.name, order.all ? ipc::SignalScope::all : ipc::SignalScope::main});
  server_.flush();
}

void Supervisor::deletion_disproved() {
  hook_calls_.disproved();
  ingress_.phase(core_.snapshot().phase);  // it may listen again
  changed();
}

void Supervisor::obey(lifecycle::Instant now, lifecycle::Action const& action) {
  namespace act = lifecycle;
  if (auto const* const order = std::get_if<act::SignalEngine>(&action)) {
    signal_engine(*order);
  }
  count(probes_.metrics(), action);
  narrator_.narrate(now, action);
  events_.report(now, action);
  std::visit(
      Overloaded{
          // These were carried out before anything was reported.
          [](act::Remember const&) {}, [](act::LeaveWill const&) {},
          [](act::SignalEngine const&) {}, [&](act::ForgetStopRecord const&) { memory_.forget(); },
          [&](act::StartEngine const&) { shim_.send(ipc::EngineStart{}); },
          [&](act::RunChecks const&) { health_.run_now(); },
          [&](act::ExitShim const& order) {
            shim_.send(ipc::Exit{order.code, report_.text()});
            report_.shim_ordered(order.code, shim_.engine().state == ipc::EngineState::exited);
          },
          [&](act::AnnouncePhase const& order) { announce(order); },
          [&](act::CancelsReady const& order) { requests_.cancels_ready(order); },
          [&](act::Admit const& order) { requests_.admit(order); },
          [&](act::Reject const& order) { requests_.reject(order); },
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
          [&](act::DeletionDisproved const&) { deletion_disproved(); },
          [&](act::AskToken const& order) { token_.ask(order); },
          [&](act::WithdrawToken const&) { token_.withdraw(); },
          [&](act::Register const&) { registries_.register_all(); },
          [&](act::Deregister const& order) {
            registries_.deregister(order.deadline, order.returns);
          },
          [&](act::StartCleanup const& order) { cleanup_.start(order); },
          [&](act::PublishReport const&) { publish_report(now); },
          [&](act::Rearm const&) { rearm(); }, [&](act::LeaveIngress const&) { ingress_.leave(); },
          [&](act::ExitSupervisor const& order) { end(order.code); },
          // The loop handles answers; notes have been counted and reported above.
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

/// The shim was notified earlier.
void Supervisor::announce(lifecycle::AnnouncePhase const& order) {
  sdks_.broadcast(ipc::PhaseChange{order.phase, order.deadline});
  ingress_.phase(order.phase);
  changed();
}

void Supervisor::publish_report(lifecycle::Instant now) {
  lifecycle::Report const report = core_.report(now);
  // According to the last report the engine was running, so its shim is lost and it is unknown how
  // it ended.
  bool const end_is_unknown = report.engine == lifecycle::EngineState::exited &&
                              shim_.engine().state == ipc::EngineState::running;
  report_.publish(report_json(
      report, {.registries = registries_.names(), .engine_end_is_unknown = end_is_unknown}));
  narrator_.report(report_.text());
  probes_.reported(report_.text(), now);
  write_termination_log(termination_log_path(), report_.text());
  // If the log's reader comes back soon enough, the report is in the log, whether the supervisor
  // ends or continues.
  lifecycle::Instant const limit = now + std::min(report.time_left - kExitTakes, kReaderIsAway);
  log_.wait_at_end_until(limit);
  poll_until(
      io_, limit, kBetweenLooks, [this] { return log_.flush(); }, [] {});
}

void Supervisor::rearm() {
  cleanup_.cancel();
  report_.forget();
  sdks_.rearm();
  registries_.begin_life();
}

}  // namespace lastcall::runtime
