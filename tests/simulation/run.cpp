#include "tests/simulation/run.hpp"

#include <memory>

#include "tests/simulation/action_hash.hpp"
#include "tests/simulation/event_text.hpp"
#include "tests/simulation/invariants.hpp"
#include "tests/simulation/tamper.hpp"
#include "tests/simulation/world.hpp"

namespace lastcall::simulation {
namespace {

using namespace lifecycle;

/// Enough for every lifecycle; one that needs more turns in circles.
constexpr std::uint64_t kMostSteps = 5'000;
constexpr Duration kLongest{400'000};

struct Recorded {
  Instant now;
  Event event;
  std::uint64_t hash = 0;
  std::vector<PeerId> taken;  // whose cancels were fetched after it
};

class Run {
 public:
  Run(Plan const& plan, bool with_trace, Tamper tamper)
      : plan_(plan), world_(plan), checker_(plan.settings), tampering_(tamper) {
    with_trace_ = with_trace;
    recorded_.reserve(128);
  }

  RunResult go() {
    if (with_trace_) {
      result_.trace.push_back(text_of(plan_.settings));
    }
    while (result_.violation.empty() && next()) {
      if (result_.steps > kMostSteps) {
        fail("the lifecycle does not end: more than " + std::to_string(kMostSteps) + " steps");
      }
    }
    if (result_.violation.empty()) {
      replay();
    }
    result_.at = world_.now();
    result_.lives = world_.supervisor_life();
    return std::move(result_);
  }

 private:
  /// One event or timer, whichever is next; false at the end.
  bool next() {
    if (!world_.inbox().empty()) {
      Event event = std::move(world_.inbox().front());
      world_.inbox().pop_front();
      deliver(world_.now(), std::move(event));
      return true;
    }
    auto const timer = core_ && world_.supervisor_up() ? core_->next_deadline() : std::nullopt;
    auto const happening = world_.next_at();
    bool const timer_due = timer && (!happening || *timer < *happening ||
                                     (*timer == *happening && plan_.manners.timer_first));
    Instant const when = timer_due ? *timer : happening.value_or(Instant{});
    if ((!timer_due && !happening) || when > kEpoch + kLongest || world_.over()) {
      return false;
    }
    if (timer_due) {
      deliver(*timer, TimerExpired{});
      return true;
    }
    World::Shim const before = world_.shim();
    world_.happen();
    after_world_moved(before);
    return true;
  }

  void after_world_moved(World::Shim const& before) {
    World::Shim const& shim = world_.shim();
    if (world_.supervisor_life() != life_) {
      replay();
      life_ = world_.supervisor_life();
      core_ = std::make_unique<Lifecycle>(plan_.settings);
      checker_.new_life();
      if (with_trace_) {
        result_.trace.push_back("at " + lastcall::simulation::text_of(world_.now()) + " restart");
      }
    }
    if (shim.number != before.number) {
      fresh_boot_ = true;
    }
    if (shim.failed_safe && !before.failed_safe) {
      result_.failed_safe = true;
      if (before.connected && before.hello_told && world_.supervisor_up()) {
        fail("the shim had to end by itself though the supervisor was connected");
      }
    }
  }

  void deliver(Instant now, Event event) {
    if (auto const* hello = std::get_if<ShimHello>(&event)) {
      if (!core_->accepts_shim(hello->boot)) {
        world_.refuse_shim();
        return;
      }
      if (std::exchange(fresh_boot_, false)) {
        checker_.new_boot();
      }
    }
    if (with_trace_) {
      result_.trace.push_back("at " + lastcall::simulation::text_of(now) + " " +
                              lastcall::simulation::text_of(event, now));
    }
    ++result_.steps;
    auto const real = core_->step(now, event);
    std::uint64_t const hash = hash_of(real);
    auto const actions = tampering_.apply(now, *core_, real);
    world_.delivered().clear();
    world_.obey(now, *core_, actions);
    std::string wrong = checker_.check({.now = now,
                                        .event = event,
                                        .actions = actions,
                                        .core = *core_,
                                        .after = core_->snapshot(),
                                        .delivered = world_.delivered()});
    if (with_trace_) {
      for (std::string const& line : text_of(*core_, actions, now)) {
        result_.trace.push_back("-> " + line);
      }
      for (Delivered const& d : world_.delivered()) {
        result_.trace.push_back(
            "-> " +
            Line("cancel").peer(d.peer).word(name(d.mode)).word(name(d.reason)).word(d.id).take());
      }
    }
    for (Action const& action : actions) {
      result_.stopped = result_.stopped || std::holds_alternative<PublishReport>(action);
    }
    recorded_.push_back({now, std::move(event), hash, std::exchange(world_.taken(), {})});
    if (!wrong.empty()) {
      fail(std::move(wrong));
    }
  }

  /// The same events on a fresh core give the same actions.
  void replay() {
    Lifecycle fresh(plan_.settings);
    for (Recorded const& r : recorded_) {
      auto const actions = fresh.step(r.now, r.event);
      if (hash_of(actions) != r.hash) {
        fail("the replay of '" + text_of(r.event, r.now) + "' gave other actions");
        break;
      }
      for (PeerId const peer : r.taken) {
        while (!fresh.take_cancels(peer, 2).ids.empty()) {
        }
      }
    }
    recorded_.clear();
  }

  void fail(std::string what) {
    if (result_.violation.empty()) {
      result_.violation = std::move(what);
    }
  }

  Plan const& plan_;
  World world_;
  Checker checker_;
  Tampering tampering_;
  bool with_trace_ = false;
  std::unique_ptr<Lifecycle> core_;
  std::uint32_t life_ = 0;
  bool fresh_boot_ = false;
  std::vector<Recorded> recorded_;
  RunResult result_;
};

}  // namespace

RunResult run(Plan const& plan, bool with_trace, Tamper tamper) {
  return Run(plan, with_trace, tamper).go();
}

}  // namespace lastcall::simulation
