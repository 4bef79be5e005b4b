// A million random lifecycles on virtual time, each held to the invariants of invariants.hpp.
//
//   sim [--count N] [--first SEED] [--time-budget SECONDS] [--threads N]
//   sim --census ...     goes on after a failure and counts each kind of it
//   sim --seed SEED      one lifecycle with its trace, which is a scenario file
//   sim --self-test      breaks the core's orders in a dozen ways; each must be found
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/simulation/run.hpp"
#include "tests/simulation/words.hpp"

namespace lastcall::simulation {
namespace {

struct Options {
  std::uint64_t count = 1'000'000;
  std::uint64_t first = 1;
  std::uint64_t threads = std::max(1U, std::thread::hardware_concurrency());
  std::uint64_t time_budget = 0;  // seconds; 0: none
  std::uint64_t seed = 0;         // 0: many
  bool self_test = false;
  bool census = false;  // count all failures instead of printing the first
};

struct Totals {
  std::atomic<std::uint64_t> lifecycles{0};
  std::atomic<std::uint64_t> steps{0};
  std::atomic<std::uint64_t> stops{0};
  std::atomic<std::uint64_t> restarts{0};
  std::atomic<std::uint64_t> failed_safe{0};
  std::mutex census_lock;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> census;  // how often, a seed
};

/// Failures of one kind differ in their figures.
std::string kind_of(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

void count(Totals& totals, RunResult const& result, std::uint64_t seed) {
  std::lock_guard const lock(totals.census_lock);
  auto& [times, first] = totals.census[kind_of(result.violation)];
  first = times++ == 0 ? seed : std::min(first, seed);
}

void print_failure(Plan const& plan, RunResult const& result) {
  std::printf("# seed %llu: %s, at %s\n# replay it with: sim --seed %llu\n",
              static_cast<unsigned long long>(plan.seed), result.violation.c_str(),
              text_of(result.at).c_str(), static_cast<unsigned long long>(plan.seed));
  Plan const small = shrink(plan);
  for (std::string const& line : run(small, true).trace) {
    std::printf("%s\n", line.c_str());
  }
}

int run_one(std::uint64_t seed) {
  Plan const plan = generate(seed);
  RunResult const result = run(plan, true);
  if (!result.violation.empty()) {
    print_failure(plan, result);
    return 1;
  }
  for (std::string const& line : result.trace) {
    std::printf("%s\n", line.c_str());
  }
  return 0;
}

int run_many(Options const& options) {
  Totals totals;
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex printing;
  auto const began = std::chrono::steady_clock::now();
  auto const seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  auto const work = [&] {
    constexpr std::uint64_t kBatch = 256;
    while (!failed) {
      std::uint64_t const from = next.fetch_add(kBatch);
      bool const late =
          options.time_budget != 0 && seconds() > static_cast<double>(options.time_budget);
      if (from >= options.count || late) {
        return;
      }
      for (std::uint64_t i = from; i < std::min(from + kBatch, options.count) && !failed; ++i) {
        Plan const plan = generate(options.first + i);
        RunResult const result = run(plan);
        ++totals.lifecycles;
        totals.steps += result.steps;
        totals.stops += result.stopped ? 1 : 0;
        totals.restarts += result.lives > 1 ? result.lives - 1 : 0;
        totals.failed_safe += result.failed_safe ? 1 : 0;
        if (!result.violation.empty() && options.census) {
          count(totals, result, plan.seed);
        } else if (!result.violation.empty() && !failed.exchange(true)) {
          std::lock_guard const lock(printing);
          print_failure(plan, result);
        }
      }
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < options.threads; ++i) {
    threads.emplace_back(work);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  double const took = seconds();
  std::printf(
      "%llu lifecycles, %llu stops, %llu supervisor restarts, %llu ends by the shim alone, "
      "%llu steps in %.1f s: %.0f lifecycles/s, %.0f steps/s\n",
      static_cast<unsigned long long>(totals.lifecycles),
      static_cast<unsigned long long>(totals.stops),
      static_cast<unsigned long long>(totals.restarts),
      static_cast<unsigned long long>(totals.failed_safe),
      static_cast<unsigned long long>(totals.steps), took,
      static_cast<double>(totals.lifecycles) / took, static_cast<double>(totals.steps) / took);
  for (auto const& [kind, found] : totals.census) {
    std::printf("%8llu times, first in seed %llu: %s\n",
                static_cast<unsigned long long>(found.first),
                static_cast<unsigned long long>(found.second), kind.c_str());
  }
  return failed || !totals.census.empty() ? 1 : 0;
}

/// Each way of breaking the core must be found within a few hundred lifecycles.
int self_test() {
  constexpr std::uint64_t kSeeds = 400;
  int missed = 0;
  for (std::uint32_t i = 1; i < kTampers; ++i) {
    auto const tamper = static_cast<Tamper>(i);
    std::string found;
    std::size_t events = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds && found.empty(); ++seed) {
      Plan const plan = generate(seed);
      found = run(plan, false, tamper).violation;
      events = found.empty() ? 0 : shrink(plan, tamper).stimuli.size();
    }
    missed += found.empty() ? 1 : 0;
    std::printf("%-28s %s", name(tamper), found.empty() ? "NOT FOUND\n" : found.c_str());
    if (!found.empty()) {
      std::printf(" (shrunk to %zu stimuli)\n", events);
    }
  }
  return missed == 0 ? 0 : 1;
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    std::string_view const word = argv[i];
    if (word == "--self-test") {
      options.self_test = true;
      continue;
    }
    if (word == "--census") {
      options.census = true;
      continue;
    }
    std::uint64_t* const target = word == "--count"         ? &options.count
                                  : word == "--first"       ? &options.first
                                  : word == "--threads"     ? &options.threads
                                  : word == "--time-budget" ? &options.time_budget
                                  : word == "--seed"        ? &options.seed
                                                            : nullptr;
    char* end = nullptr;
    if (target == nullptr || i + 1 == argc) {
      return false;
    }
    *target = std::strtoull(argv[++i], &end, 10);
    if (*end != '\0') {
      return false;
    }
  }
  return options.threads > 0;
}

}  // namespace
}  // namespace lastcall::simulation

int main(int argc, char** argv) {
  using namespace lastcall::simulation;
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: sim [--count N] [--first SEED] [--time-budget SECONDS] [--threads N]\n"
                 "       sim --seed SEED | --self-test\n");
    return 2;
  }
  if (options.self_test) {
    return self_test();
  }
  return options.seed != 0 ? run_one(options.seed) : run_many(options);
}
