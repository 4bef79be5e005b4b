// Every interleaving of a few closed worlds (closed_world.hpp), each with its own limits and to its
// fixed point, breadth first, so that the first counterexample is a shortest one. It is printed as
// a scenario file.
//
//   explore [--depth N] [--time-budget SECONDS]   the budget is that of each world: 20 s, and ten
//                          minutes when LASTCALL_TEST_LONG is set
//   explore --self-test    a checker that must fail: any end counts as a violation
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <unordered_set>

#include "tests/simulation/closed_world.hpp"

namespace lastcall::simulation {
namespace {

struct Options {
  std::uint64_t depth = 100;  // where no fixed point is reached
  std::uint64_t time_budget = std::getenv("LASTCALL_TEST_LONG") != nullptr ? 600 : 20;
  bool self_test = false;
};

using Path = std::vector<Choice>;

lifecycle::Settings settings_of_the_world() {
  lifecycle::Settings settings;
  settings.registries = 1;
  settings.cleanup_hooks = true;
  settings.shutdown.drain_unknown = lifecycle::Duration{4'000};
  return settings;
}

constexpr std::array<Limits, 6> kWorlds{{
    {.name = "a stop and its requests", .signals = 2, .faults = 1, .requests = 2},
    {.name = "drain, resume and stop", .signals = 1, .drains = 3, .requests = 1},
    {.name = "the supervisor dies in a stop", .signals = 1, .kills = 2, .requests = 1},
    {.name = "the supervisor dies in a drain", .drains = 2, .kills = 1, .requests = 1},
    {.name = "connections drop in a stop",
     .signals = 1,
     .shim_drops = 1,
     .peer_drops = 1,
     .requests = 1},
    {.name = "faults while the supervisor and connections come and go",
     .signals = 1,
     .kills = 1,
     .shim_drops = 1,
     .faults = 2},
}};

struct Found {
  Path path;
  std::string wrong;
};

class Exploration {
 public:
  Exploration(Options const& options, Limits const& limits) : options_(options), limits_(limits) {}

  int run() {
    frontier_.push_back({});
    while (!frontier_.empty() && depth_ < options_.depth && within_budget()) {
      std::vector<Path> next;
      for (Path const& path : frontier_) {
        if (!expand(path, next)) {
          return report_failure();
        }
        if (!within_budget()) {
          break;
        }
      }
      frontier_ = std::move(next);
      ++depth_;
    }
    bool const fixed_point = frontier_.empty();
    std::printf("%s: %zu states, %llu transitions, depth %llu%s in %.1f s\n", limits_.name,
                seen_.size(), static_cast<unsigned long long>(transitions_),
                static_cast<unsigned long long>(depth_), fixed_point ? " (fixed point)" : "",
                seconds());
    return options_.self_test ? 1 : 0;
  }

 private:
  bool within_budget() const { return seconds() < static_cast<double>(options_.time_budget); }
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }

  /// The world at the end of a path; a path that was taken before cannot fail.
  ClosedWorld world_at(Path const& path) const {
    ClosedWorld world(settings_, limits_);
    for (Choice const choice : path) {
      world.take(choice);
    }
    return world;
  }

  bool expand(Path const& path, std::vector<Path>& next) {
    ClosedWorld here = world_at(path);
    auto const choices = here.enabled();
    for (std::size_t i = 0; i < choices.size(); ++i) {
      // The last choice may use the world up; the others need one of their own.
      bool const last = i + 1 == choices.size();
      ClosedWorld there = last ? std::move(here) : world_at(path);
      std::string wrong = there.take(choices[i]);
      ++transitions_;
      if (options_.self_test && wrong.empty() && there.enabled().empty()) {
        wrong = "self-test: this is a way to the end";
      }
      Path longer = path;
      longer.push_back(choices[i]);
      if (!wrong.empty()) {
        found_ = {std::move(longer), std::move(wrong)};
        return false;
      }
      if (seen_.insert(std::hash<std::string>{}(there.fingerprint())).second) {
        next.push_back(std::move(longer));
      }
    }
    return true;
  }

  int report_failure() const {
    ClosedWorld world(settings_, limits_, true);
    for (Choice const choice : found_.path) {
      world.take(choice);
    }
    std::printf("# %s\n", found_.wrong.c_str());
    for (std::string const& line : world.commands()) {
      std::printf("%s\n", line.c_str());
    }
    return options_.self_test ? 0 : 1;
  }

  Options const options_;
  Limits const& limits_;
  lifecycle::Settings const settings_ = settings_of_the_world();
  std::vector<Path> frontier_;
  std::unordered_set<std::uint64_t> seen_;
  std::uint64_t transitions_ = 0;
  std::uint64_t depth_ = 0;
  Found found_;
  std::chrono::steady_clock::time_point const began_ = std::chrono::steady_clock::now();
};

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    std::string_view const word = argv[i];
    if (word == "--self-test") {
      options.self_test = true;
      continue;
    }
    std::uint64_t* const target = word == "--depth"         ? &options.depth
                                  : word == "--time-budget" ? &options.time_budget
                                                            : nullptr;
    if (target == nullptr || i + 1 == argc) {
      return false;
    }
    *target = std::strtoull(argv[++i], nullptr, 10);
  }
  return true;
}

}  // namespace
}  // namespace lastcall::simulation

int main(int argc, char** argv) {
  lastcall::simulation::Options options;
  if (!lastcall::simulation::parse(argc, argv, options)) {
    std::fprintf(stderr, "usage: explore [--depth N] [--time-budget SECONDS]\n");
    return 2;
  }
  std::atomic<std::size_t> next{0};
  std::atomic<int> failed{0};
  auto const work = [&] {
    using lastcall::simulation::kWorlds;
    for (std::size_t i = next++; i < kWorlds.size(); i = next++) {
      failed |= lastcall::simulation::Exploration(options, kWorlds[i]).run();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back(work);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return failed;
}
