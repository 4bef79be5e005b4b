// The supervisor's process, the shim and its engine: what they do by themselves.
#include <algorithm>
#include <utility>

#include "core/remembered.hpp"
#include "tests/simulation/words.hpp"
#include "tests/simulation/world.hpp"

namespace lastcall::simulation {

using namespace lifecycle;

bool World::happen_to_processes(Entry const& e) {
  bool const this_boot = shim_.alive && e.a == shim_.number;
  if (e.what == What::stop_signal) {
    stop_signal(e.a);
  } else if (e.what == What::engine_dies) {
    if (shim_.alive && shim_.engine == EngineState::running) {
      end_engine({.code = static_cast<int>(e.a), .signal = static_cast<int>(e.b)});
    }
  } else if (e.what == What::shim_drops) {
    drop_shim(e.a, e.b != 0);
  } else if (e.what == What::shim_dies) {
    end_shim();
  } else if (e.what == What::supervisor_dies) {
    kill_supervisor(e.a);
  } else if (e.what == What::supervisor_returns) {
    start_supervisor();
  } else if (e.what == What::shim_boots) {
    boot_shim();
  } else if (e.what == What::shim_returns) {
    connect_shim();
  } else if (e.what == What::shim_times_out) {
    if (this_boot) {
      fail_safe();
    }
  } else if (e.what == What::engine_is_up) {
    engine_answers_ = engine_answers_ || this_boot;
  } else if (e.what == What::engine_ends) {
    if (this_boot && shim_.engine == EngineState::running) {
      shim_.main_killed = e.c == 9;
      end_engine({.code = static_cast<int>(e.b), .signal = static_cast<int>(e.c)});
    }
  } else if (e.what == What::rest_ends) {
    if (this_boot) {
      end_rest();
    }
  } else if (e.what == What::process_dies) {
    if (is_connected() && shim_.engine == EngineState::running) {
      EngineProcessDied death{
          .pid = 30, .name = e.a != 0 ? "core0" : "helper", .signal = 9, .at = now_};
      if (shim_.ordered) {  // a process that lives on is reported once it was asked to end
        death.alive = static_cast<std::uint32_t>(plan_.seed % 2);
        death.names.assign(*death.alive, "core1");
      }
      notify(std::move(death));
    }
  } else {
    return false;
  }
  return true;
}

void World::start_supervisor() {
  if (supervisor_up_ || supervisor_left_) {
    return;
  }
  supervisor_up_ = true;
  ++life_;
  inbox_.clear();
  notify(SupervisorStarted{});
  auto const record = decode_remembered(stop_record_);
  bool const expired = record && record->progress.stop && record->progress.stop->deadline <= now_;
  if (expired) {
    stop_record_.clear();
  } else if (!stop_record_.empty()) {
    notify(StopRecordRead{stop_record_});
  }
  start_ingress();
  auto const jitter = static_cast<std::uint32_t>((plan_.seed + life_ * 37) % 120);
  after(jitter, What::shim_returns);
  for (std::uint32_t peer = 0; peer < kPeers; ++peer) {
    after((jitter * (peer + 2)) % 150, What::peer_returns, peer);
  }
  after(10, What::checks_due, life_);
}

void World::kill_supervisor(std::uint32_t away_ms) {
  if (!supervisor_up_) {
    return;
  }
  supervisor_up_ = false;
  inbox_.clear();
  shim_.connected = false;
  shim_.hello_told = false;
  for (Peer& peer : peers_) {
    peer.connected = false;
  }
  peers_[kRelay].alive = false;  // its connections die with the process
  for (Request& request : requests_) {
    request.live = request.live && request.peer != kRelay;
  }
  after(away_ms, What::supervisor_returns);
}

void World::boot_shim() {
  if (shim_.alive) {
    return;
  }
  shim_ = Shim{};
  shim_.number = ++boots_;
  shim_.boot = "boot" + std::to_string(boots_);
  shim_.run = plan_.manners.run;
  shim_.alive = true;
  engine_answers_ = false;
  connect_shim();
}

void World::connect_shim() {
  if (!shim_.alive || !supervisor_up_ || shim_.connected) {
    return;
  }
  shim_.connected = true;
  shim_.hello_told = true;
  notify(shim_.hello());
}

void World::refuse_shim() {
  constexpr std::uint32_t kAgain = 100;
  shim_.connected = shim_.hello_told = false;
  after(kAgain, What::shim_returns);
}

void World::drop_shim(std::uint32_t away_ms, bool watched) {
  if (!shim_.connected) {
    return;
  }
  bool const announced = is_connected();
  shim_.connected = false;
  shim_.hello_told = false;
  if (announced) {
    notify(ShimDisconnected{.watched = watched});
  }
  after(away_ms, What::shim_returns);
}

/// PID 1 is gone, and the container with it.
void World::end_shim() {
  if (!shim_.alive) {
    return;
  }
  bool const announced = is_connected();
  shim_.alive = shim_.connected = shim_.hello_told = false;
  engine_answers_ = false;
  if (announced) {
    bool const watched = plan_.seed % 2 == 0;
    notify(ShimDisconnected{.watched = watched});
    if (watched) {
      notify(ShimGone{});
    }
  }
  if (plan_.manners.run) {
    over_ = true;  // one container: all is gone
  }
  for (std::uint32_t peer = 0; peer < kPeers; ++peer) {
    kill_peer(peer);
  }
  after(plan_.manners.container_restarts_ms, What::shim_boots);
}

void World::end_engine(EngineExit exit) {
  shim_.end_engine(exit, now_);
  engine_answers_ = false;
  leave_behind();
  if (is_connected()) {
    notify(EngineExited{.exit = exit, .ordered = shim_.ordered, .alive = shim_.rest});
  }
  if (is_connected() && shim_.rest.value_or(0) > 0) {
    notify(EngineTreeSeen{*shim_.rest, {plan_.seed % 2 == 0 ? "core0" : "server"}});
  }
  for (std::uint32_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i].live && requests_[i].peer == kRelay && !requests_[i].waits) {
      auto const seen = static_cast<std::uint32_t>(plan_.seed % 900);  // if no cancel comes first
      after(seen, What::request_ends, i, static_cast<std::uint32_t>(Outcome::error));
    }
  }
  arm_failsafe();
}

/// The shim kills what has not ended by itself after its grace.
void World::leave_behind() {
  Manners const& m = plan_.manners;
  bool const is_rest = shim_.ordered && !shim_.main_killed;
  if (m.left_behind != kNever) {
    shim_.rest = is_rest ? m.left_behind : 0;
  }
  Duration rest{0};
  if (shim_.rest.value_or(0) > 0) {
    Duration const grace = plan_.settings.rest_grace;
    rest = std::min(Duration{m.rest_ms}, grace);
    after(static_cast<std::uint32_t>(to_ms(std::min(Duration{m.rest_ms}, grace + Duration{20}))),
          What::rest_ends, shim_.number);
  }
  shim_.patience_ends = now_ + rest + Duration{5'000};
}

void World::end_rest() {
  if (shim_.engine == EngineState::exited && shim_.rest.value_or(0) > 0) {
    shim_.rest = 0;
    if (is_connected()) {
      notify(EngineTreeSeen{});
    }
  }
}

void World::signal_engine(bool kill, bool by_core) {
  if (kill && shim_.rest.value_or(0) > 0) {
    after(plan_.manners.engine_kill_ms, What::rest_ends, shim_.number);
  }
  if (shim_.engine != EngineState::running) {
    return;
  }
  shim_.ordered = true;
  Manners const& m = plan_.manners;
  if (kill) {
    after(m.engine_kill_ms, What::engine_ends, shim_.number, 0, 9);
  } else if (by_core || !shim_.failsafe_term) {
    after(m.engine_term_ms, What::engine_ends, shim_.number, m.engine_term_code,
          m.engine_term_signal);
  }
}

void World::stop_signal(std::uint32_t which) {
  constexpr std::array kNames{"TERM", "INT", "QUIT"};
  if (!shim_.alive) {
    return;
  }
  shim_.hold_stop(now_);
  if (is_connected()) {
    notify(StopSignalHeld{.name = kNames[which % 3], .at = now_});
  }
  arm_failsafe();
}

/// When the shim acts next by itself: KILL near D, exit at D, exit 5 s after its engine's tree.
void World::arm_failsafe() {
  constexpr Duration kLate{1};  // the core's own order of the same instant comes first
  if (shim_.stop_at && !shim_.deadline) {
    auto const budgets = budgets_within(plan_.settings.shutdown, plan_.settings.pod_grace);
    shim_.deadline = *shim_.stop_at + budgets.total;
  }
  if (shim_.deadline) {
    at(std::max(*shim_.deadline + kLate, now_), What::shim_times_out, shim_.number);
  }
  if (shim_.engine_gone_at) {
    at(*shim_.patience_ends + kLate, What::shim_times_out, shim_.number);
  }
}

void World::fail_safe() {
  bool const at_deadline = shim_.deadline && now_ > *shim_.deadline;
  bool const engine_left = shim_.patience_ends && now_ > *shim_.patience_ends;
  if (at_deadline || engine_left) {
    shim_.failed_safe = true;
    end_shim();
  }
}

}  // namespace lastcall::simulation
