// The core's orders, carried out as the shell and the shim would.
#include <algorithm>

#include "core/remembered.hpp"
#include "tests/simulation/world.hpp"

namespace lastcall::simulation {

using namespace lifecycle;

struct World::Obey {
  World& world;
  Lifecycle& core;

  void operator()(Remember const& a) const {
    if (world.shim_.connected) {
      world.shim_.blob = a.blob;
    } else {
      world.stop_record_ = a.blob;
    }
  }
  void operator()(ForgetStopRecord const&) const { world.stop_record_.clear(); }
  void operator()(LeaveWill const& a) const {
    if (world.shim_.connected) {
      world.shim_.deadline = a.deadline;
      world.arm_failsafe();
    }
  }
  void operator()(StartEngine const&) const {
    if (world.shim_.start_engine()) {
      world.notify(EngineStarted{});
      world.after(world.plan_.manners.engine_loads, What::engine_is_up, world.shim_.number);
    }
  }
  void operator()(SignalEngine const& a) const {
    if (world.shim_.connected) {
      world.signal_engine(a.name == "KILL", true);
    }
  }
  void operator()(ExitShim const& a) const {
    if (world.shim_.connected) {
      world.shim_.exit_code = a.code;
      world.end_shim();
    }
  }
  void operator()(AnnouncePhase const& a) const {
    if (world.shim_.connected && a.deadline) {
      world.shim_.deadline = a.deadline;
      world.arm_failsafe();
    }
  }
  void operator()(CancelsReady const& a) const { world.take_cancels(core, a.peer); }
  void operator()(Admit const& a) const { world.answer(a.peer, a.id, true); }
  void operator()(Reject const& a) const { world.answer(a.peer, a.id, false); }
  void operator()(Deregister const&) const {
    Manners const& m = world.plan_.manners;
    for (std::uint32_t i = 0; i < world.plan_.settings.registries; ++i) {
      std::uint32_t const confirmed = (m.registry_fails >> i & 1U) == 0 ? 1 : 0;
      world.after(m.registry_ms[i], What::registry_says, world.life_, i, confirmed);
      if ((m.registry_repeats >> i & 1U) != 0 && m.registry_ms[i] != kNever) {
        world.after(m.registry_ms[i] + 700, What::registry_says, world.life_, i, 1);
      }
    }
  }
  void operator()(StartCleanup const& a) const {
    Manners const& m = world.plan_.manners;
    auto const item = static_cast<std::uint32_t>(a.item);
    if (a.item == CleanupItem::sdk) {
      for (std::uint32_t peer = 0; peer < kPeers; ++peer) {
        world.after(m.ack_ms[peer], What::sdk_says, world.life_, peer);
      }
      return;
    }
    auto const outcome =
        (m.cleanup_fails >> item & 1U) == 0 ? ItemOutcome::completed : ItemOutcome::failed;
    world.after(m.cleanup_ms[item], What::cleanup_says, world.life_, item,
                static_cast<std::uint32_t>(outcome));
  }
  void operator()(ReleaseHook const&) const {
    if (world.plan_.manners.alone) {
      world.after(world.plan_.manners.engine_term_ms, What::container_ends,
                  world.pod_goes_ ? 1 : 0);
    }
  }
  void operator()(AwaitReplacement const&) const {
    world.after(world.plan_.manners.replaced_ms, What::engine_replaced, world.life_);
  }
  void operator()(AskToken const& a) const {
    Manners const& m = world.plan_.manners;
    auto const number = static_cast<std::uint32_t>(a.number);
    bool const goes_out = static_cast<TokenOutcome>(m.token_outcome) != TokenOutcome::withheld;
    if (goes_out) {
      world.after(1, What::token_leaves, world.life_, number);
    }
    world.after(m.token_ms, What::token_comes, world.life_, number, m.token_outcome);
  }
  void operator()(ExitSupervisor const&) const {
    world.kill_supervisor(kNever);
    // With a shim that goes on it was our own restart; else the pod is done.
    if (world.shim_.alive || (world.plan_.manners.alone && !world.pod_goes_)) {
      world.after(300, What::supervisor_returns);
    } else {
      world.supervisor_left_ = true;
    }
  }
  // Answers, notes, and orders that only the real shell can do something with.
  template <typename Note>
  void operator()(Note const&) const {}
};

void World::obey(Instant now, Lifecycle& core, std::span<Action const> actions) {
  now_ = now;
  for (Action const& action : actions) {
    std::visit(Obey{*this, core}, action);
  }
}

}  // namespace lastcall::simulation
