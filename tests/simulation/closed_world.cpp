#include "tests/simulation/closed_world.hpp"

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
  core_ = std::make_unique<Lifecycle>(settings_);
  if (recording_) {
    commands_.push_back(text_of(settings_));
  }
  tell(SupervisorStarted{});
  shim_says_hello();
  peer_says_hello();
}

std::string ClosedWorld::tell(Event event) {
  if (recording_) {
    commands_.push_back("at " + text_of(now_) + " " + text_of(event, now_));
  }
  auto const actions = core_->step(now_, event);
  delivered_.clear();
  obey(actions);
  return checker_.check(
      {.now = now_, .event = event, .actions = actions, .core = *core_, .delivered = delivered_});
}

void ClosedWorld::obey(std::span<Action const> actions) {
  bool start = false;
  for (Action const& action : actions) {
    if (auto const* remember = std::get_if<Remember>(&action)) {
      (shim_connected_ ? blob_ : record_) = remember->blob;
    } else if (std::holds_alternative<ForgetStopRecord>(action)) {
      record_.clear();
    } else if (std::holds_alternative<StartEngine>(action)) {
      start = shim_connected_ && engine_ == EngineState::waiting;
    } else if (std::holds_alternative<SignalEngine>(action)) {
      ordered_ = ordered_ || shim_connected_;
    } else if (std::holds_alternative<Deregister>(action)) {
      registry_asked_ = settings_.registries > 0;
    } else if (auto const* item = std::get_if<StartCleanup>(&action)) {
      hook_runs_ = hook_runs_ || item->item == CleanupItem::hooks;
      registries_closing_ = registries_closing_ || item->item == CleanupItem::registries;
      ack_asked_ = ack_asked_ || item->item == CleanupItem::sdk;
    } else if (auto const* ready = std::get_if<CancelsReady>(&action)) {
      while (peer_connected_ && ready->peer == conn_) {
        CancelBatch const batch = core_->take_cancels(conn_, 8);
        if (batch.ids.empty()) {
          break;
        }
        for (auto const id : batch.ids) {
          delivered_.push_back({conn_, std::string(id), batch.mode, batch.reason});
        }
      }
    } else if (std::holds_alternative<ExitShim>(action)) {
      shim_alive_ = shim_alive_ && !shim_connected_;
      over_ = over_ || !shim_alive_;
    } else if (std::holds_alternative<ExitSupervisor>(action) ||
               std::holds_alternative<Rearm>(action)) {
      over_ = true;
    }
  }
  if (start) {
    engine_ = EngineState::running;
  }
}

std::string ClosedWorld::start_again() {
  std::string wrong = tell(SupervisorStarted{});
  return wrong.empty() && !record_.empty() ? tell(StopRecordRead{record_}) : wrong;
}

std::string ClosedWorld::shim_says_hello() {
  ShimHello hello;
  hello.boot = "a";
  hello.run = true;
  hello.engine = engine_;
  hello.exit = exit_;
  hello.exited_at = engine_ == EngineState::exited ? std::optional(exited_at_) : std::nullopt;
  hello.ordered = ordered_;
  hello.stop_at = stop_at_;
  hello.blob = blob_;
  shim_connected_ = true;
  EngineState const before = engine_;
  std::string wrong = tell(std::move(hello));
  if (wrong.empty() && before == EngineState::waiting && engine_ == EngineState::running) {
    wrong = tell(EngineStarted{});
  }
  return wrong;
}

std::string ClosedWorld::peer_says_hello() {
  peer_connected_ = true;
  ++conn_;
  std::uint32_t const live = (requests_[0].live ? 1 : 0) + (requests_[1].live ? 1 : 0);
  std::string wrong = tell(PeerConnected{.peer = conn_, .name = "w", .live = live});
  for (std::size_t i = 0; i < 2 && wrong.empty(); ++i) {
    wrong = tell(EndpointRegistered{.peer = conn_, .endpoint = kEndpoints[i], .graceful = i == 0});
  }
  for (std::size_t i = 0; i < 2 && wrong.empty(); ++i) {
    wrong = requests_[i].live ? begin(i, true) : "";
  }
  return wrong;
}

std::string ClosedWorld::begin(std::size_t which, bool resumed) {
  requests_[which] = {.live = true, .ever = true};
  return tell(RequestBegun{.peer = conn_,
                           .id = kIds[which],
                           .root = {},
                           .parent = {},
                           .endpoint = kEndpoints[which],
                           .model = {},
                           .admit = false,
                           .resumed = resumed});
}

std::string ClosedWorld::end_engine(int signal) {
  engine_ = EngineState::exited;
  exit_ = {.code = 0, .signal = signal, .oom = false};
  exited_at_ = now_;
  return shim_connected_ ? tell(EngineExited{.exit = exit_, .ordered = ordered_}) : "";
}

std::vector<Choice> ClosedWorld::enabled() const {
  std::vector<Choice> choices;
  if (over_) {
    return choices;
  }
  auto const add = [&choices](bool may, Choice choice) {
    if (may) {
      choices.push_back(choice);
    }
  };
  bool const running = engine_ == EngineState::running;
  bool const may_fail = faults_ < limits_.faults;
  add(core_->next_deadline().has_value(), Choice::time_passes);
  add(shim_connected_ && signals_ < limits_.signals, Choice::signal);
  add(drains_ < limits_.drains, Choice::drain);
  add(drains_ < limits_.drains, Choice::drain_exit);
  add(drains_ < limits_.drains && drains_ > 0, Choice::resume);
  add(running, Choice::engine_ends);
  add(running && may_fail, Choice::engine_is_killed);
  add(peer_connected_ && !requests_[0].ever && limits_.requests > 0, Choice::begin_graceful);
  add(peer_connected_ && !requests_[1].ever && limits_.requests > 1, Choice::begin_other);
  add(peer_connected_ && requests_[0].live, Choice::end_graceful);
  add(peer_connected_ && requests_[1].live, Choice::end_other);
  add(registry_asked_, Choice::registry_confirms);
  add(registry_asked_ && may_fail, Choice::registry_fails);
  add(hook_runs_, Choice::hook_ends);
  add(registries_closing_, Choice::registries_close);
  add(ack_asked_ && peer_connected_, Choice::peer_acks);
  add(peer_connected_ && may_fail, Choice::peer_fatal);
  add(shim_connected_ && shim_drops_ < limits_.shim_drops, Choice::shim_drops);
  add(!shim_connected_, Choice::shim_returns);
  add(peer_connected_ && peer_drops_ < limits_.peer_drops, Choice::peer_drops);
  add(!peer_connected_, Choice::peer_returns);
  add(kills_ < limits_.kills, Choice::supervisor_dies);
  return choices;
}

std::string ClosedWorld::take(Choice choice) {
  switch (choice) {
    case Choice::time_passes:
      now_ = *core_->next_deadline();
      return tell(TimerExpired{});
    case Choice::signal:
      ++signals_;
      stop_at_ = stop_at_ ? stop_at_ : now_;
      return tell(StopSignalHeld{.name = "TERM", .at = now_});
    case Choice::drain:
    case Choice::drain_exit:
      ++drains_;
      return tell(DrainRequested{.exit = choice == Choice::drain_exit, .timeout = {}});
    case Choice::resume:
      ++drains_;
      return tell(ResumeRequested{});
    case Choice::engine_ends:
      return end_engine(0);
    case Choice::engine_is_killed:
      ++faults_;
      return end_engine(9);
    case Choice::begin_graceful:
      return begin(0, false);
    case Choice::begin_other:
      return begin(1, false);
    case Choice::end_graceful:
    case Choice::end_other: {
      std::size_t const which = choice == Choice::end_graceful ? 0 : 1;
      requests_[which].live = false;
      return tell(RequestEnded{.peer = conn_, .id = kIds[which], .outcome = Outcome::completed});
    }
    case Choice::registry_confirms:
    case Choice::registry_fails:
      faults_ += choice == Choice::registry_fails ? 1 : 0;
      registry_asked_ = false;
      return tell(RegistrySettled{
          .registry = 0, .confirmed = choice == Choice::registry_confirms, .detail = {}});
    case Choice::hook_ends:
      hook_runs_ = false;
      return tell(CleanupSettled{.item = CleanupItem::hooks, .detail = {}});
    case Choice::registries_close:
      registries_closing_ = false;
      return tell(CleanupSettled{.item = CleanupItem::registries, .detail = {}});
    case Choice::peer_acks:
      ack_asked_ = false;
      return tell(PeerCleanedUp{conn_});
    case Choice::peer_fatal:
      ++faults_;
      return tell(PeerFatal{.peer = conn_, .reason = "engine_dead", .detail = {}});
    case Choice::shim_drops:
      ++shim_drops_;
      shim_connected_ = false;
      return tell(ShimDisconnected{.watched = true});
    case Choice::shim_returns:
      return shim_says_hello();
    case Choice::peer_drops:
      ++peer_drops_;
      peer_connected_ = false;
      return tell(PeerDisconnected{conn_});
    case Choice::peer_returns:
      return peer_says_hello();
    case Choice::supervisor_dies:
      ++kills_;
      shim_connected_ = peer_connected_ = registry_asked_ = hook_runs_ = false;
      registries_closing_ = ack_asked_ = false;
      core_ = std::make_unique<Lifecycle>(settings_);
      checker_.new_life();
      if (recording_) {
        commands_.push_back("at " + text_of(now_) + " restart");
      }
      return start_again();
  }
  return {};
}

std::string ClosedWorld::fingerprint() const {
  std::string out = core_->fingerprint(now_);
  auto const put = [&out](std::int64_t x) { (out += std::to_string(x)) += ';'; };
  for (std::int64_t const x : {std::int64_t{kills_},
                               std::int64_t{signals_},
                               std::int64_t{drains_},
                               std::int64_t{shim_drops_},
                               std::int64_t{peer_drops_},
                               std::int64_t{faults_},
                               std::int64_t{shim_connected_},
                               std::int64_t{ordered_},
                               std::int64_t{peer_connected_},
                               std::int64_t{requests_[0].live},
                               std::int64_t{requests_[0].ever},
                               std::int64_t{requests_[1].live},
                               std::int64_t{requests_[1].ever},
                               std::int64_t{registry_asked_},
                               std::int64_t{hook_runs_},
                               std::int64_t{registries_closing_},
                               std::int64_t{ack_asked_},
                               std::int64_t{over_},
                               static_cast<std::int64_t>(engine_),
                               std::int64_t{exit_.signal}}) {
    put(x);
  }
  put(stop_at_ ? lifecycle::to_ms(*stop_at_ - now_) : 1);
  put(engine_ == EngineState::exited ? lifecycle::to_ms(exited_at_ - now_) : 1);
  // What it will tell a new life; while connected it is a function of the core's state.
  for (std::string const& blob : {shim_connected_ ? std::string() : blob_, record_}) {
    auto const kept = decode_remembered(blob);
    put(kept ? static_cast<std::int64_t>(kept->progress.phase) : -1);
    if (kept) {
      put(lifecycle::to_ms(kept->progress.phase_began - now_));
      put(kept->progress.stop ? lifecycle::to_ms(kept->progress.stop->deadline - now_) : 1);
      put(kept->cleanup_step);
      put(kept->sdk_peers);
      put(kept->died_with_work);
    }
  }
  return out;
}

}  // namespace lastcall::simulation
