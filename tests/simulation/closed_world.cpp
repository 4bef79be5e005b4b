#include "tests/simulation/closed_world.hpp"

#include <algorithm>
#include <utility>

#include "core/remembered.hpp"
#include "tests/simulation/event_text.hpp"

namespace lastcall::simulation {

using namespace lifecycle;

namespace {

constexpr std::array kIds{"graceful", "other"};
constexpr std::array kEndpoints{"prefill", "decode"};

}  // namespace

ClosedWorld::ClosedWorld(Settings const& settings, Limits const& limits, bool recording)
    : settings_(settings),
      limits_(limits),
      checker_(settings),
      now_(kEpoch),
      recording_(recording) {
  core_.emplace(settings_);
  if (recording_) {
    commands_.push_back(text_of(settings_));
  }
  notify(SupervisorStarted{});
  shim_.boot = "a";
  shim_.run = !is_sidecar();
  if (!is_alone()) {
    shim_says_hello();
  }
  if (!limits_.gauges) {
    peer_says_hello();
  }
}

std::string ClosedWorld::notify(Event event) {
  if (recording_) {
    commands_.push_back("at " + text_of(now_) + " " + text_of(event, now_));
  }
  auto const actions = core_->step(now_, event);
  delivered_.clear();
  obey(actions);
  std::string wrong = checker_.check({.now = now_,
                                      .event = event,
                                      .actions = actions,
                                      .core = *core_,
                                      .after = core_->snapshot(),
                                      .delivered = delivered_});
  if (wrong.empty() && std::exchange(token_leaves_, false)) {
    wrong = notify(TokenSent{token_out_->number});
  }
  return wrong;
}

void ClosedWorld::obey(std::span<Action const> actions) {
  for (Action const& action : actions) {
    if (auto const* remember = std::get_if<Remember>(&action)) {
      (shim_.connected ? shim_.blob : record_) = remember->blob;
    } else if (std::holds_alternative<ForgetStopRecord>(action)) {
      record_.clear();
    } else if (std::holds_alternative<StartEngine>(action)) {
      shim_.start_engine();
    } else if (std::holds_alternative<SignalEngine>(action)) {
      shim_.ordered = shim_.ordered || shim_.connected;
    } else if (std::holds_alternative<Deregister>(action)) {
      registry_asked_ = settings_.registries > 0;
    } else if (auto const* item = std::get_if<StartCleanup>(&action)) {
      hook_runs_ = hook_runs_ || item->item == CleanupItem::hooks;
      registries_closing_ = registries_closing_ || item->item == CleanupItem::registries;
      ack_asked_ = ack_asked_ || item->item == CleanupItem::sdk;
    } else if (auto const* ready = std::get_if<CancelsReady>(&action)) {
      take_cancels(ready->peer);
    } else if (auto const* reject = std::get_if<Reject>(&action)) {
      requests_[1].live = requests_[1].live && reject->peer != kIngressPeer;
    } else if (auto const* ask = std::get_if<AskToken>(&action)) {
      token_out_ = *ask;
      token_leaves_ = true;
    } else if (std::holds_alternative<WithdrawToken>(action)) {
      token_out_.reset();
      token_leaves_ = false;
    } else if (std::holds_alternative<ExitShim>(action)) {
      over_ = over_ || shim_.connected;
    } else if (std::holds_alternative<Rearm>(action)) {
      over_ = over_ || !is_alone();
    } else if (std::holds_alternative<ExitSupervisor>(action)) {
      over_ = true;
    }
  }
}

void ClosedWorld::take_cancels(PeerId peer) {
  if (peer != kIngressPeer && !(peer_connected_ && peer == conn_)) {
    return;
  }
  read_cancels(*core_, peer, 8, [&](Delivered cancel) {
    delivered_.push_back(std::move(cancel));
    is_cut_ = is_cut_ || peer == kIngressPeer;
  });
}

/// The supervisor is killed and a new one comes up: it knows what `stop.json` holds.
std::string ClosedWorld::start_again() {
  ++kills_;
  deletion_ = false;  // it never expires in the process that saw it, but there
  shim_.connected = peer_connected_ = registry_asked_ = hook_runs_ = false;
  registries_closing_ = ack_asked_ = false;
  requests_[1].live = requests_[1].live && !is_relayed(1);  // its connection died with us
  token_out_.reset();
  core_.emplace(settings_);
  checker_.new_life();
  if (recording_) {
    commands_.push_back("at " + text_of(now_) + " restart");
  }
  std::string wrong = notify(SupervisorStarted{});
  return wrong.empty() && !record_.empty() ? notify(StopRecordRead{record_}) : wrong;
}

std::string ClosedWorld::shim_says_hello() {
  shim_.connected = true;
  EngineState const before = shim_.engine;
  std::string wrong = notify(shim_.hello());
  if (wrong.empty() && before == EngineState::waiting && shim_.engine == EngineState::running) {
    wrong = notify(EngineStarted{});
  }
  return wrong;
}

std::string ClosedWorld::peer_says_hello() {
  peer_connected_ = true;
  ++conn_;
  bool const has_other = requests_[1].live && !is_relayed(1);
  std::uint32_t const live = (requests_[0].live ? 1 : 0) + (has_other ? 1 : 0);
  std::string wrong = notify(PeerConnected{.peer = conn_, .name = "w", .live = live});
  for (std::size_t i = 0; i < 2 && wrong.empty(); ++i) {
    wrong =
        notify(EndpointRegistered{.peer = conn_, .endpoint = kEndpoints[i], .graceful = i == 0});
  }
  for (std::size_t i = 0; i < 2 && wrong.empty(); ++i) {
    wrong = requests_[i].live && !is_relayed(i) ? begin(i, true) : "";
  }
  return wrong;
}

PeerId ClosedWorld::owner(std::size_t which) const {
  return is_relayed(which) ? kIngressPeer : conn_;
}

std::string ClosedWorld::begin(std::size_t which, bool resumed) {
  requests_[which] = {.live = true, .ever = true};
  return notify(RequestBegun{.peer = owner(which),
                             .id = kIds[is_relayed(which) ? 0 : which],
                             .root = {},
                             .parent = {},
                             .endpoint = kEndpoints[which],
                             .model = {},
                             .admit = is_relayed(which),
                             .resumed = resumed});
}

std::string ClosedWorld::end(std::size_t which) {
  requests_[which].live = false;
  return notify(RequestEnded{
      .peer = owner(which),
      .id = kIds[is_relayed(which) ? 0 : which],
      .outcome = is_relayed(which) && is_cut_ ? Outcome::cancelled : Outcome::completed});
}

std::string ClosedWorld::end_engine(int signal) {
  shim_.end_engine({.code = 0, .signal = signal, .oom = false}, now_);
  return shim_.connected ? notify(EngineExited{.exit = shim_.exit, .ordered = shim_.ordered}) : "";
}

/// The shim holds it, whether or not it is reported now.
std::string ClosedWorld::take_signal() {
  ++signals_;
  shim_.hold_stop(now_);
  return shim_.connected ? notify(StopSignalHeld{.name = "TERM", .at = now_}) : "";
}

std::uint64_t ClosedWorld::fingerprint() const {
  if (over_) {
    return 0;
  }
  std::uint64_t hash = core_->fingerprint(now_);
  auto const put = [&hash](std::int64_t x) {
    hash = (hash ^ static_cast<std::uint64_t>(x)) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29U;
  };
  auto const put_past = [&](Instant at, Duration matters_for) {
    put(to_ms(std::max(at - now_, -matters_for)));
  };
  auto const put_all = [&put](auto const&... x) { (put(static_cast<std::int64_t>(x)), ...); };
  put_all(kills_, signals_, drains_, shim_drops_, peer_drops_, faults_, hooks_, restarts_, freezes_,
          deletion_, shim_.connected, shim_.ordered, peer_connected_, requests_[0].live,
          requests_[0].ever, requests_[1].live, requests_[1].ever, registry_asked_, hook_runs_,
          registries_closing_, ack_asked_, shim_.engine, shim_.exit.signal, is_cut_,
          token_out_.has_value());
  bool const another_life = kills_ < limits_.kills;
  bool const another_hello = another_life || !shim_.connected || shim_drops_ < limits_.shim_drops;
  bool const stop_is_known = core_->snapshot().stop.has_value() && !another_life;
  if (another_hello && shim_.stop_at && !stop_is_known) {
    put_past(*shim_.stop_at, settings_.shutdown.grace_period);
  }
  if (another_hello && shim_.engine_gone_at) {
    put_past(*shim_.engine_gone_at, kAfterEngine);
  }
  auto const put_kept = [&](std::string const& blob) {
    auto const kept = decode_remembered(blob);
    put(kept.has_value());
    if (!kept) {
      return;
    }
    auto const& progress = kept->progress;
    put_all(progress.phase, kept->condemned.has_value());
    if (progress.hook) {
      put_past(progress.hook->called_at, settings_.shutdown.grace_period);
      put(progress.hook->deletion);
      put(progress.hook->grace.value_or(Duration{0}).count());
    }
    if (progress.phase == Phase::deregistering || progress.phase == Phase::draining) {
      put_past(progress.phase_began, settings_.shutdown.deregister_timeout);
    }
    if (progress.stop) {
      put(static_cast<std::int64_t>(progress.stop->mode));
      put(to_ms(progress.stop->deadline - now_));
      put(to_ms(progress.stop->deadline - progress.stop->cause_at));
    }
    put_all(kept->cleanup_step, kept->sdk_peers, kept->died_with_work, kept->engine_killed,
            kept->ready, kept->silence, kept->relayed,
            kept->outcomes[static_cast<std::size_t>(Outcome::lost)]);
  };
  if (another_life || !core_->snapshot().shim_known) {
    put_kept(shim_.blob);
  }
  if (another_life) {
    put_kept(record_);
  }
  return hash;
}

}  // namespace lastcall::simulation
