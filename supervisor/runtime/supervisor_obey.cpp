// Carries out the orders of the core.
#include "base/overloaded.hpp"
#include "supervisor/runtime/supervisor.hpp"

namespace lastcall::runtime {

void Supervisor::signal_engine(lifecycle::SignalEngine const& order) {
  peers_.shim().send(
      ipc::EngineSignal{order.name, order.all ? ipc::SignalScope::all : ipc::SignalScope::main});
  peers_.server().flush();
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
  records_.action(now, action);
  std::visit(
      Overloaded{
          // These were carried out before anything was reported.
          [](act::Remember const&) {}, [](act::LeaveWill const&) {},
          [](act::SignalEngine const&) {}, [&](act::ForgetStopRecord const&) { memory_.forget(); },
          [&](act::StartEngine const&) { peers_.shim().send(ipc::EngineStart{}); },
          [&](act::RunChecks const&) { engine_.health().run_now(); },
          [&](act::ExitShim const& order) { report_.end_shim(order.code); },
          [&](act::AnnouncePhase const& order) { announce(order); },
          [&](act::CancelsReady const& order) { requests_.cancels_ready(order); },
          [&](act::Admit const& order) { requests_.admit(order); },
          [&](act::Reject const& order) { requests_.reject(order); },
          [&](act::ForgetPeer const& order) {
            registration_.registries().peer_gone(order.peer);
            peers_.sdks().forget(order.peer);
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
          [](act::Refuse const&) {}, [](act::Answer const&) {},
          [&](act::StopBegun const&) { changed(); }, [](act::SignalIgnored const&) {},
          [](act::DrainAborted const&) {}, [&](act::PhaseBegun const&) { changed(); },
          [](act::PhaseEnded const&) {}, [&](act::GracefulEndpoints const&) { changed(); },
          [](act::LastEndpointCompleted const&) {}, [&](act::VerdictChanged const&) { changed(); },
          [&](act::RequestSettled const&) { peers_.operators().changed(); },
          [&](act::BusyChanged const&) { changed(); }, [](act::CancelCounted const&) {},
          [](act::CancelSettled const&) {}},
      action);
}

/// The shim was notified earlier.
void Supervisor::announce(lifecycle::AnnouncePhase const& order) {
  peers_.sdks().broadcast(ipc::PhaseChange{order.phase, order.deadline});
  ingress_.phase(order.phase);
  changed();
}

void Supervisor::rearm() {
  cleanup_.cancel();
  report_.forget();
  peers_.sdks().rearm();
  registration_.registries().begin_life();
}

}  // namespace lastcall::runtime
