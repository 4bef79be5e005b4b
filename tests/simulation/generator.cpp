// From a seed to a plan. Extremes are picked on purpose: tiny pods, hooks that hang, lost answers.
#include <algorithm>

#include "tests/simulation/plan.hpp"
#include "tests/simulation/words.hpp"

namespace lastcall::simulation {
namespace {

using namespace lifecycle;

Settings random_settings(Random& random) {
  Settings s;
  constexpr std::array<int, 4> kGrace{60'000, 30'000, 10'000, 1'000};
  constexpr std::array<int, 6> kPod{0, 0, 30'000, 62'000, 8'000, 2'500};
  s.shutdown.grace_period = Duration{random.pick(kGrace)};
  if (auto const pod = random.pick(kPod); pod != 0) {
    s.pod_grace = Duration{pod};
  }
  s.shutdown.late_accept = Duration{random.chance(50) ? 1'000 : random.below(6'000)};
  s.shutdown.deregister_timeout = Duration{random.chance(70)   ? 5'000
                                           : random.chance(30) ? 0
                                                               : random.below(6'000)};
  s.shutdown.cancel_settle = Duration{random.chance(70) ? 1'000 : random.below(3'000)};
  s.shutdown.cleanup_reserve = Duration{random.chance(70) ? 5'000 : random.below(20'000)};
  s.shutdown.drain_unknown = Duration{random.chance(50) ? 15'000 : random.below(4'000)};
  s.migrate = random.chance(70) ? MigratePolicy::at_end : MigratePolicy::at_start;
  s.second_signal = random.chance(85) ? SecondSignal::ignore : SecondSignal::force;
  s.after_stop = random.pick(
      std::array{AfterStop::automatic, AfterStop::automatic, AfterStop::rearm, AfterStop::exit});
  s.on_exit = random.chance(80) ? OnExit::fatal : OnExit::propagate;
  s.lifecycle_hooks = random.chance(10);
  s.registries = random.below(3);
  s.cleanup_hooks = random.chance(50);
  s.cleanup_paths = random.chance(50);
  s.shutdown.events = s.events = random.chance(50);
  s.shutdown.registries = s.registries > 0;
  s.ingress_is_exclusive = random.chance(15);
  s.reconnect_window = Duration{random.chance(70) ? 5'000 : random.below(9'000)};
  if (random.chance(30)) {
    s.gauge_refresh = Duration{1'000};
  }
  for (std::uint32_t i = 0, n = random.below(3); i < n; ++i) {
    s.health.checks.push_back(
        {.name = "check" + std::to_string(i), .failure_threshold = 1 + random.below(2)});
  }
  if (random.chance(10)) {
    s.health.stalled_after = Duration{5'000};
  }
  if (random.chance(10)) {
    s.health.startup_timeout = Duration{4'000};
  }
  return s;
}

std::uint32_t answer_ms(Random& random) {
  constexpr std::array<std::uint32_t, 8> kAnswers{1, 10, 50, 300, 800, 2'500, 8'000, kNever};
  return random.chance(60) ? random.below(50) : random.pick(kAnswers);
}

Manners random_manners(Random& random) {
  Manners m;
  m.engine_loads = random.chance(70) ? 0 : random.below(6'000);
  m.engine_term_ms = answer_ms(random);
  m.engine_term_code = random.chance(70) ? 0 : 1 + random.below(3);
  m.engine_term_signal = random.chance(20) ? 15 : 0;
  m.engine_kill_ms = random.below(20);
  for (auto& ms : m.registry_ms) {
    ms = answer_ms(random);
  }
  m.registry_fails = random.chance(20) ? random.below(4) : 0;
  m.registry_repeats = random.chance(20) ? random.below(4) : 0;
  for (auto& ms : m.cleanup_ms) {
    ms = answer_ms(random);
  }
  m.cleanup_fails = random.chance(20) ? random.below(64) : 0;
  for (auto& ms : m.ack_ms) {
    ms = answer_ms(random);
  }
  m.cancel_ms = random.chance(80) ? random.below(200) : random.below(5'000);
  m.check_interval_ms = random.chance(50) ? 2'000 : 7'000;
  m.container_restarts_ms = random.chance(20) ? 500 + random.below(3'000) : kNever;
  m.run = random.chance(40);
  m.alone = random.chance(20);
  m.run = m.run && !m.alone;
  m.replaced_ms = random.chance(60) ? random.below(900) : answer_ms(random);
  m.timer_first = random.chance(50);
  m.critical_peers = random.chance(15);
  m.watched_peers = random.chance(50);
  return m;
}

/// What may happen beside the stop; the numbers are how often, of each other.
struct Weighted {
  What what;
  std::uint32_t weight;
};
constexpr std::array<Weighted, 21> kBeside{
    {{What::request_begins, 40}, {What::peer_drops, 6},
     {What::peer_dies, 3},       {What::shim_drops, 5},
     {What::shim_dies, 1},       {What::supervisor_dies, 6},
     {What::engine_dies, 3},     {What::operator_cancels, 5},
     {What::peer_cancels, 5},    {What::repeat_end, 3},
     {What::health_turns, 4},    {What::endpoint_vanishes, 2},
     {What::gauges_say, 4},      {What::progress, 3},
     {What::deletion_seen, 2},   {What::own_signal, 2},
     {What::drain, 3},           {What::resume, 3},
     {What::peer_fatal, 1},      {What::stop_signal, 2},
     {What::engine_hook, 2}}};

What pick_beside(Random& random) {
  constexpr std::uint32_t kTotal = [] {
    std::uint32_t total = 0;
    for (Weighted const& w : kBeside) {
      total += w.weight;
    }
    return total;
  }();
  std::uint32_t at = random.below(kTotal);
  for (Weighted const& w : kBeside) {
    if (at < w.weight) {
      return w.what;
    }
    at -= w.weight;
  }
  return What::request_begins;
}

std::uint32_t away_ms(Random& random) {
  return random.chance(70) ? 1 + random.below(900) : 1 + random.below(8'000);
}

bool names_a_peer(What what) {
  return what == What::peer_joins || what == What::peer_dies || what == What::peer_fatal ||
         what == What::endpoint_vanishes || what == What::peer_drops ||
         what == What::request_begins;
}

std::uint32_t request_bits(Random& random) {
  auto const maybe = [&random](std::uint32_t percent, std::uint32_t bit) {
    return random.chance(percent) ? bit : 0U;
  };
  return random.below(3) | maybe(30, kRequestAdmit) | maybe(20, kRequestChild) |
         maybe(10, kRequestIgnoresStop) | maybe(5, kRequestIgnoresAll) |
         maybe(50, kRequestConfirms);
}

/// Limits, and more requests than they let in. It uses random numbers of its own: the rest of a
/// seed's plan is what it was without.
void crowd(Plan& plan, std::uint32_t span) {
  Random random(plan.seed * 0x9e3779b97f4a7c15ULL + 7);
  if (!random.chance(40)) {
    return;
  }
  AdmissionLimits& limits = plan.settings.admission;
  limits.running = 1 + random.below(3);
  limits.waiting = random.below(4);
  if (random.chance(40)) {
    limits.wait_timeout = Duration{1 + random.below(2'000)};
  }
  if (random.chance(20)) {
    limits.first_byte = 1 + random.below(2);
  }
  limits.priorities = random.chance(30);
  if (random.chance(20)) {
    plan.settings.load.decode_ppm = 850'000;
    plan.settings.load.max_age = Duration{500 + random.below(5'000)};
  }
  auto const add = [&](What what, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    plan.stimuli.push_back({kEpoch + Duration{100 + random.below(span)}, what, a, b, c});
  };
  for (std::uint32_t i = 0, n = random.below(20); i < n; ++i) {
    std::uint32_t const asks = random.chance(85) ? kRequestAdmit : 0;
    std::uint32_t const part = random.chance(15) ? kRequestChild : 0;
    add(What::request_begins, random.below(kPeers), 1 + random.below(5'000),
        random.below(3) | asks | part | random.below(8) << kRequestPriorityShift);
  }
  for (std::uint32_t i = 0, n = random.below(4); i < n; ++i) {
    add(What::limits_change, random.below(4), random.below(4), 0);
  }
  std::uint32_t const by_gauges = random.below(100);  // of the reports, in percent
  for (std::uint32_t i = 0, n = plan.settings.load.decode_ppm ? random.below(6) : 0; i < n; ++i) {
    add(What::load_told, random.below(kPeers), 70 + random.below(30),
        random.chance(by_gauges < 50 ? 100 : by_gauges) ? 1 : 0);
  }
  for (std::uint32_t i = 0, n = limits.first_byte ? random.below(8) : 0; i < n; ++i) {
    add(What::progress, random.below(12), 0, 0);
  }
}

/// What the engine has beside its main process. It also uses random numbers of its own.
void work_in_parts(Plan& plan, std::uint32_t span) {
  Random random(plan.seed * 0xbf58476d1ce4e5b9ULL + 13);
  if (!random.chance(50)) {
    return;
  }
  plan.manners.left_behind = random.chance(40) ? 0 : 1 + random.below(3);
  plan.manners.rest_ms = answer_ms(random);
  plan.settings.rest_grace = Duration{random.chance(50) ? 10'000 : random.below(3'000)};
  plan.settings.main_ends_workers = random.chance(20);
  plan.settings.essential_processes = {"core*"};
  for (std::uint32_t i = 0, n = random.below(3); i < n; ++i) {
    plan.stimuli.push_back({kEpoch + Duration{100 + random.below(span)}, What::process_dies,
                            random.chance(20) ? 1U : 0U, 0, 0});
  }
}

/// An ingress, what it relays, and the engine's side of it. It also uses random numbers of its own.
void relay(Plan& plan, std::uint32_t span) {
  Random random(plan.seed * 0xd1342543de82ef95ULL + 11);
  if (!random.chance(35)) {
    return;
  }
  plan.manners.relays = true;
  auto const add = [&](std::uint32_t at_ms, std::uint32_t peer, std::uint32_t bits) {
    std::uint32_t const lasts =
        random.chance(70) ? 1 + random.below(4'000) : 1 + random.below(90'000);
    plan.stimuli.push_back(
        {kEpoch + Duration{at_ms}, What::request_begins, peer, lasts, random.below(3) | bits});
  };
  for (std::uint32_t i = 0, n = 1 + random.below(8); i < n; ++i) {
    std::uint32_t const at = 100 + random.below(span);
    std::uint32_t const priority = random.below(8) << kRequestPriorityShift;
    add(at, kRelay, kRequestAdmit | priority);
    for (std::uint32_t parts = random.below(3); parts > 0; --parts) {
      std::uint32_t const serves = random.chance(70) ? kRequestServes : kRequestServesByRoot;
      std::uint32_t const asks = random.chance(30) ? kRequestAdmit : 0;
      std::uint32_t const ignores = random.chance(10) ? kRequestIgnoresStop : 0;
      std::uint32_t const confirms = random.chance(50) ? kRequestConfirms : 0;
      add(at + random.below(100), random.below(kPeers), serves | asks | ignores | confirms);
    }
  }
  for (std::uint32_t i = 0, n = random.below(4); i < n; ++i) {
    What const what = random.chance(70) ? What::peer_cancels : What::operator_cancels;
    plan.stimuli.push_back(
        {kEpoch + Duration{100 + random.below(span)}, what, random.below(10), random.below(2), 0});
  }
}

/// What the engine's gauges report, and the request for one token. It also uses random numbers of
/// its own.
void ask_engine(Plan& plan, std::uint32_t span) {
  Random random(plan.seed * 0x8cb92ba72f3d8dd7ULL + 13);
  if (!random.chance(30)) {
    return;
  }
  plan.settings.gauge_refresh = plan.settings.gauge_refresh.value_or(Duration{500});
  plan.settings.load_counts = random.chance(20);
  plan.settings.token = {.barrier = random.chance(80), .canary = random.chance(50)};
  plan.manners.token_ms = random.chance(80) ? answer_ms(random) : random.below(20'000);
  plan.manners.token_outcome = random.chance(70) ? 0 : random.below(4);
  for (std::uint32_t i = 0, n = random.below(30); i < n; ++i) {
    std::uint32_t const figure = random.chance(85) ? 0 : random.chance(30) ? 1'000 : 1;
    plan.stimuli.push_back({kEpoch + Duration{100 + random.below(span)}, What::gauges_say, figure,
                            random.chance(20) ? 1U : 0U, 0});
  }
}

/// An engine that stalls for a while, and tokens that show it. It uses random numbers of its
/// own.
void freeze(Plan& plan, std::uint32_t span) {
  Random random(plan.seed * 0x9fb21c651e98df25ULL + 13);
  if (!random.chance(30)) {
    return;
  }
  auto const add = [&](What what, std::uint32_t a, std::uint32_t b) {
    plan.stimuli.push_back({kEpoch + Duration{100 + random.below(span)}, what, a, b, 0});
  };
  for (std::uint32_t i = 0, n = 1 + random.below(4); i < n; ++i) {
    add(What::process_stops, 1 + random.below(random.chance(70) ? 9'000 : 40'000), random.below(2));
  }
  if (random.chance(50)) {
    plan.settings.gauge_refresh = Duration{1'000};
    plan.settings.health.tokens_show_stalls = true;
    for (std::uint32_t i = 0, n = random.below(12); i < n; ++i) {
      add(What::tokens_say, random.below(3), random.below(3));
    }
  }
  for (std::uint32_t i = 0, n = random.below(6); i < n; ++i) {
    add(What::progress, random.below(12), 0);
  }
}

Entry fill(Random& random, Instant at, What what) {
  Entry e{.at = at, .what = what};
  e.a = random.below(names_a_peer(what) ? kPeers : 6);
  e.b = random.below(2);
  if (what == What::stop_signal) {
    e.a = random.below(3);
  } else if (what == What::drain || what == What::drain_exit) {
    e.a = random.chance(60) ? 0 : 1 + random.below(10'000);
  } else if (what == What::engine_dies) {
    e.a = random.below(3);
    e.b = random.chance(40) ? 9 + 2 * random.below(2) : 0;
  } else if (what == What::shim_drops) {
    e.a = away_ms(random);
  } else if (what == What::supervisor_dies) {
    e.a = random.chance(95) ? away_ms(random) : kNever;
  } else if (what == What::peer_drops) {
    e.b = random.chance(80) ? away_ms(random) : 0;
  } else if (what == What::request_begins) {
    e.b = random.chance(70) ? 1 + random.below(4'000) : 1 + random.below(90'000);
    e.c = request_bits(random);
  } else if (what == What::engine_hook) {
    e.a = random.below(3);
    e.b = random.below(2'000);
  } else if (what == What::health_turns) {
    e.a = random.below(2);
    e.b = random.below(5);
  } else if (what == What::gauges_say) {
    e.a = random.chance(60) ? 0 : random.chance(50) ? 1'000 : 1;
  }
  return e;
}

}  // namespace

Plan generate(std::uint64_t seed) {
  Random random(seed * 0x2545f4914f6cdd1dULL + 1);
  Plan plan;
  plan.seed = seed;
  plan.settings = random_settings(random);
  plan.manners = random_manners(random);
  if (plan.manners.alone) {
    plan.settings.lifecycle_hooks = true;
    if (plan.settings.health.checks.empty()) {
      plan.settings.health.checks.push_back({.name = "check0"});
    }
  }
  std::uint32_t const stop_at = 200 + random.below(random.chance(50) ? 1'000 : 8'000);
  auto const add = [&](std::uint32_t at_ms, What what) {
    plan.stimuli.push_back(fill(random, kEpoch + Duration{at_ms}, what));
  };
  for (std::uint32_t peer = 0, n = random.below(kPeers + 1); peer < n; ++peer) {
    add(100 + random.below(100), What::peer_joins);
    plan.stimuli.back().a = peer;
  }
  if (random.chance(20)) {
    add(stop_at - random.below(stop_at / 2), What::drain);
  }
  constexpr std::array kStops{What::stop_signal, What::stop_signal, What::stop_signal,
                              What::drain_exit,  What::engine_dies, What::own_signal};
  for (std::uint32_t i = 0, n = 1 + random.below(3); i < n; ++i) {
    add(stop_at + i * random.below(12'000), random.pick(kStops));
  }
  for (std::uint32_t i = 0, n = plan.manners.alone ? 1 + random.below(2) : 0; i < n; ++i) {
    add(3'000 + random.below(9'000), What::engine_hook);
  }
  std::uint32_t const span = stop_at + (random.chance(60) ? 6'000 : 70'000);
  for (std::uint32_t i = 0, n = random.below(16); i < n; ++i) {
    add(100 + random.below(random.chance(50) ? stop_at : span), pick_beside(random));
  }
  crowd(plan, span);
  relay(plan, span);
  ask_engine(plan, span);
  work_in_parts(plan, span);
  freeze(plan, span);
  std::stable_sort(plan.stimuli.begin(), plan.stimuli.end(),
                   [](Entry const& x, Entry const& y) { return x.at < y.at; });
  return plan;
}

}  // namespace lastcall::simulation
