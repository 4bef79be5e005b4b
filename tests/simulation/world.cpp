#include "tests/simulation/world.hpp"

#include <algorithm>
#include <utility>

#include "tests/simulation/words.hpp"

namespace lastcall::simulation {
namespace {

using namespace lifecycle;

constexpr auto kLater = [](auto const& x, auto const& y) {
  return x.first.at != y.first.at ? x.first.at > y.first.at : x.second > y.second;
};

}  // namespace

World::World(Plan const& plan) : plan_(plan), now_(kEpoch) {
  agenda_.reserve(plan.stimuli.size() + 32);
  for (Entry const& entry : plan.stimuli) {
    agenda_.emplace_back(entry, order_++);
  }
  std::make_heap(agenda_.begin(), agenda_.end(), kLater);
  after(0, What::supervisor_returns);
  if (plan.manners.alone) {
    engine_answers_ = true;
  } else {
    after(plan.seed % 3 == 0 ? 0 : static_cast<std::uint32_t>(plan.seed % 90), What::shim_boots);
  }
}

void World::at(Instant when, What what, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  agenda_.emplace_back(Entry{.at = when, .what = what, .a = a, .b = b, .c = c}, order_++);
  std::push_heap(agenda_.begin(), agenda_.end(), kLater);
}

void World::after(std::uint32_t ms, What what, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  if (ms != kNever) {
    at(now_ + Duration{ms}, what, a, b, c);
  }
}

void World::notify(Event event) {
  if (supervisor_up_) {
    inbox_.push_back(std::move(event));
  }
}

std::optional<Instant> World::next_at() const {
  return agenda_.empty() ? std::nullopt : std::optional(agenda_.front().first.at);
}

void World::happen() {
  std::pop_heap(agenda_.begin(), agenda_.end(), kLater);
  Entry const entry = agenda_.back().first;
  agenda_.pop_back();
  now_ = std::max(now_, entry.at);
  if (!happen_to_processes(entry) && !happen_to_peers(entry) && !happen_to_requests(entry)) {
    happen_elsewhere(entry);
  }
}

/// Operators, registries, hooks, gauges: they answer only the life that asked.
void World::happen_elsewhere(Entry const& e) {
  auto const timeout = e.a == 0 ? std::nullopt : std::optional(Duration{e.a});
  if (e.what == What::own_signal) {
    notify(OwnSignal{"TERM"});
  } else if (e.what == What::deletion_seen) {
    bool const is_read = e.a >= 3;
    notify(DeletionSeen{is_read ? std::optional(Duration{4'000 * e.a}) : std::nullopt});
  } else if (e.what == What::engine_hook) {
    call_hook(e);
  } else if (e.what == What::container_ends) {
    end_container(e.a != 0);
  } else if (e.what == What::engine_replaced) {
    engine_answers_ = true;
    if (e.a == life_) {
      notify(EngineReplaced{"refused"});
    }
  } else if (e.what == What::drain) {
    notify(DrainRequested{.exit = false, .timeout = timeout});
  } else if (e.what == What::drain_exit) {
    notify(DrainRequested{.exit = true, .timeout = timeout});
  } else if (e.what == What::resume) {
    notify(ResumeRequested{});
  } else if (e.what == What::health_turns) {
    health_[e.a % health_.size()] = static_cast<CheckVerdict>(e.b % 5);
  } else if (e.what == What::gauges_say) {
    tell_gauges(e);
  } else if (e.what == What::tokens_say) {
    notify(GaugesRead{.in_flight = e.a, .tokens = e.b});
  } else if (e.what == What::process_stops) {
    freeze(e.a, e.b != 0);
  } else if (e.a == life_ && e.what == What::checks_due) {
    checks();
  } else if (e.a == life_ && e.what == What::registry_says) {
    notify(RegistrySettled{.registry = e.b, .confirmed = e.c != 0});
  } else if (e.a == life_ && e.what == What::token_leaves) {
    notify(TokenSent{e.b});
  } else if (e.a == life_ && e.what == What::token_comes) {
    notify(TokenAnswered{.number = e.b, .outcome = static_cast<TokenOutcome>(e.c)});
  } else if (e.a == life_ && e.what == What::cleanup_says) {
    notify(CleanupSettled{.item = static_cast<CleanupItem>(e.b),
                          .outcome = static_cast<ItemOutcome>(e.c)});
  }
}

void World::tell_gauges(Entry const& e) {
  auto const figure = e.a == 1'000 ? std::nullopt : std::optional<std::uint64_t>(e.a);
  notify(GaugesRead{.in_flight = figure, .tokens = {}, .load = e.b != 0 ? figure : std::nullopt});
}

/// The kubelet calls the engine's preStop, and the supervisor's where the pod goes.
void World::call_hook(Entry const& e) {
  pod_goes_ = pod_goes_ || e.a != 0;
  if (e.a == 2) {
    notify(DeletionSeen{.grace = {}});
  }
  notify(EngineStopHook{});
  if (e.a == 1) {
    at(now_ + Duration{e.b}, What::deletion_seen);
  }
}

/// The stop signal that preStop held: the engine ends, and with a pod that goes, so do we.
void World::end_container(bool pod_goes) {
  engine_answers_ = false;
  if (pod_goes) {
    notify(OwnSignal{"TERM"});
  }
}

/// It is stopped: it answers nothing, and what its shim sees of it is reported.
void World::freeze(std::uint32_t ms, bool is_seen) {
  if (!engine_answers_) {
    return;
  }
  frozen_until_ = std::max(frozen_until_, now_ + Duration{ms});
  if (is_seen && is_connected() && shim_.engine == EngineState::running) {
    notify(EngineProcessStopped{.pid = 17, .name = "engine"});
  }
}

void World::checks() {
  if (!supervisor_up_) {
    return;
  }
  for (std::uint32_t i = 0; i < plan_.settings.health.checks.size(); ++i) {
    bool const runs = plan_.manners.alone || shim_.engine == EngineState::running;
    bool const up = engine_answers_ && runs;
    bool const frozen = up && now_ < frozen_until_;
    notify(CheckFinished{.check = i,
                         .verdict = frozen ? CheckVerdict::timed_out
                                    : up   ? health_[i]
                                           : CheckVerdict::failed,
                         .detail = {},
                         .took = Duration{frozen ? 1'000 : 0}});
  }
  after(plan_.manners.check_interval_ms, What::checks_due, life_);
}

}  // namespace lastcall::simulation
