// The router's fleet alone: what a choice costs, and news of its workers, with how many of them.
//
// The argument of a benchmark is the number of workers.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include "router/fleet.hpp"

namespace {

using lastcall::router::Announced;
using lastcall::router::Fleet;
using lastcall::router::Time;
using lastcall::router::Worker;

constexpr Time kNow{1'000'000};

std::vector<Announced> workers(std::int64_t count) {
  std::vector<Announced> found;
  for (std::int64_t i = 0; i < count; ++i) {
    std::string const place = std::to_string(i / 250) + "." + std::to_string(i % 250);
    found.push_back({"http://10.0." + place + ":8000", "Qwen/Qwen3-0.6B"});
  }
  return found;
}

/// A generator that is as good as the router's own, and as cheap.
struct Drawn {
  std::uint64_t operator()() {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    return state;
  }
  std::uint64_t state = 1;
};

void choose(benchmark::State& state, Fleet::Wanted const& wanted, std::size_t failed) {
  Fleet fleet({}, Drawn{});
  fleet.set(0, workers(state.range(0)));
  for (std::size_t i = 0; failed > 0 && i < fleet.workers().size(); i += 100 / failed) {
    fleet.failed(*fleet.workers()[i], kNow);
  }
  for (auto _ : state) {
    auto const worker = fleet.choose(wanted, {}, kNow);
    benchmark::DoNotOptimize(worker.get());
  }
}

void choose_any(benchmark::State& state) {
  choose(state, {.model = "Qwen/Qwen3-0.6B"}, 0);
}

void choose_with_a_tenth_skipped(benchmark::State& state) {
  choose(state, {.model = "Qwen/Qwen3-0.6B"}, 10);
}

/// The keys are of many conversations, whose requests begin here and end later.
void choose_by_keys(benchmark::State& state, std::size_t failed) {
  constexpr std::size_t kLive = 4'000;
  Fleet fleet({}, Drawn{});
  fleet.set(0, workers(state.range(0)));
  for (std::size_t i = 0; failed > 0 && i < fleet.workers().size(); i += 100 / failed) {
    fleet.failed(*fleet.workers()[i], kNow);
  }
  Drawn drawn;
  std::vector<std::shared_ptr<Worker>> live(kLive);
  std::size_t at = 0;
  for (auto _ : state) {
    auto worker = fleet.choose({.model = "Qwen/Qwen3-0.6B", .affinity = drawn()}, {}, kNow);
    fleet.began(*worker);
    live[at].swap(worker);
    if (worker) {
      fleet.ended(*worker);
    }
    at = (at + 1) % kLive;
  }
}

void choose_by_key(benchmark::State& state) {
  choose_by_keys(state, 0);
}

void choose_by_key_with_a_tenth_skipped(benchmark::State& state) {
  choose_by_keys(state, 10);
}

/// Measures the first choice after a worker was added or removed.
void choose_by_key_after_news(benchmark::State& state) {
  std::vector<Announced> const all = workers(state.range(0));
  Fleet fleet({}, Drawn{});
  for (auto _ : state) {
    state.PauseTiming();
    fleet.set(0, all);
    state.ResumeTiming();
    auto const worker = fleet.choose({.model = "Qwen/Qwen3-0.6B", .affinity = 7}, {}, kNow);
    benchmark::DoNotOptimize(worker.get());
  }
}

/// Measures the other questions that a request asks of the fleet.
void look_up(benchmark::State& state) {
  Fleet fleet({}, Drawn{});
  fleet.set(0, workers(state.range(0)));
  std::string_view const model = "Qwen/Qwen3-0.6B";
  for (auto _ : state) {
    benchmark::DoNotOptimize(fleet.models().size());
    benchmark::DoNotOptimize(fleet.announces(model));
    benchmark::DoNotOptimize(fleet.knows(model));
    benchmark::DoNotOptimize(fleet.busy(model, kNow).has_value());
  }
}

/// Makes as many changes as there are workers, and reports each with the whole list.
void burst(benchmark::State& state) {
  std::vector<Announced> const all = workers(state.range(0));
  for (auto _ : state) {
    Fleet fleet({}, Drawn{});
    std::vector<Announced> announced;
    for (Announced const& each : all) {
      announced.push_back(each);
      benchmark::DoNotOptimize(fleet.set(0, announced).came.size());
    }
  }
}

BENCHMARK(choose_any)->Arg(10)->Arg(1'000);
BENCHMARK(choose_with_a_tenth_skipped)->Arg(1'000);
BENCHMARK(choose_by_key)->Arg(10)->Arg(1'000);
BENCHMARK(choose_by_key_with_a_tenth_skipped)->Arg(1'000);
BENCHMARK(choose_by_key_after_news)->Arg(1'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(look_up)->Arg(10)->Arg(1'000);
BENCHMARK(burst)->Arg(1'000)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
