// Every interleaving of a few closed worlds (closed_world.hpp), each with its own limits, breadth
// first, so that the first counterexample is a shortest one. It is printed as a scenario file.
//
//   explore [--states N]   how many states of each world are visited at most; a run is bounded by
//                          nothing else, so that each machine sees the same ones
//   explore --world WORDS  only the worlds whose name has these words
//   explore --self-test    a checker that must fail: any end counts as a violation
//
// A world has to be explored to its fixed point, or else to kStatedDepth at the least.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "tests/simulation/closed_world.hpp"

namespace lastcall::simulation {
namespace {

constexpr std::uint64_t kStatedDepth = 12;

struct Options {
  std::uint64_t states = std::getenv("LASTCALL_TEST_LONG") != nullptr ? 50'000'000 : 1'000'000;
  bool self_test = false;
  std::string_view world;
};

lifecycle::Settings settings_of(Limits const& limits) {
  lifecycle::Settings settings;
  settings.registries = 1;
  settings.cleanup_hooks = limits.hooks == 0;
  settings.ingress_is_exclusive = limits.exclusive;
  settings.lifecycle_hooks = limits.hooks > 0;
  if (limits.hooks > 0 || limits.freezes > 0) {
    settings.health.checks.push_back({.name = "engine", .failure_threshold = 1});
  }
  settings.shutdown.drain_unknown = lifecycle::Duration{4'000};
  if (limits.gauges) {
    settings.gauge_refresh = lifecycle::Duration{0};
    settings.token = {.barrier = true, .canary = limits.canary};
    settings.registries = 0;
    settings.cleanup_hooks = false;
  }
  return settings;
}

constexpr std::array<Limits, 16> kWorlds{{
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
    {.name = "the ingress relays, and the supervisor dies",
     .signals = 1,
     .kills = 1,
     .requests = 2,
     .relays = true},
    {.name = "the ingress is the only way in, and the supervisor dies",
     .signals = 1,
     .kills = 1,
     .requests = 2,
     .relays = true,
     .exclusive = true},
    {.name = "preStop calls", .signals = 1, .drains = 1, .faults = 1, .requests = 1, .hooks = 2},
    {.name = "the supervisor dies in preStop",
     .signals = 1,
     .kills = 1,
     .faults = 1,
     .requests = 1,
     .hooks = 1},
    {.name = "our own signal beside a shim", .signals = 1, .requests = 1, .restarts = 1},
    {.name = "our own signal while the ingress relays",
     .requests = 2,
     .relays = true,
     .restarts = 1},
    {.name = "gauges and a barrier, and the supervisor dies",
     .signals = 1,
     .drains = 2,
     .kills = 1,
     .gauges = true},
    {.name = "gauges, a canary and a barrier",
     .signals = 1,
     .drains = 1,
     .gauges = true,
     .canary = true},
    {.name = "an engine that falls silent", .signals = 1, .drains = 2, .requests = 1, .freezes = 3},
    {.name = "the supervisor dies beside a silent engine",
     .signals = 1,
     .kills = 1,
     .faults = 1,
     .freezes = 2},
}};

class Exploration {
 public:
  Exploration(Options const& options, Limits const& limits) : options_(options), limits_(limits) {}

  int run() {
    nodes_.push_back({});
    path_.push_back({0, ClosedWorld(settings_, limits_)});
    std::size_t level = 0;  // nodes_ holds the levels one after the other
    std::size_t end_of_level = 1;
    while (level < end_of_level && nodes_.size() < options_.states) {
      for (; level < end_of_level; ++level) {
        if (!expand(static_cast<std::uint32_t>(level))) {
          return options_.self_test ? 0 : 1;
        }
        if (nodes_.size() >= options_.states) {
          break;
        }
      }
      depth_ += level == end_of_level ? 1 : 0;
      end_of_level = level == end_of_level ? nodes_.size() : level;
    }
    bool const fixed_point = level == nodes_.size();
    std::printf("%s: %zu states, %llu transitions, all to depth %llu, fixed point %s, %.1f s\n",
                limits_.name, nodes_.size(), static_cast<unsigned long long>(transitions_),
                static_cast<unsigned long long>(depth_), fixed_point ? "yes" : "no", seconds());
    if (!fixed_point && depth_ < kStatedDepth) {
      std::printf("# neither its fixed point nor depth %llu is reached\n",
                  static_cast<unsigned long long>(kStatedDepth));
      return 1;
    }
    return options_.self_test ? 1 : 0;
  }

 private:
  /// A state, as the choice that first led to it.
  struct Node {
    std::uint32_t from = 0;
    Choice choice = Choice::time_passes;
  };
  struct Place {
    std::uint32_t node;
    ClosedWorld world;
  };

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }

  std::vector<std::uint32_t> path_to(std::uint32_t node) const {
    std::vector<std::uint32_t> path;
    for (; node != 0; node = nodes_[node].from) {
      path.push_back(node);
    }
    path.push_back(0);
    return {path.rbegin(), path.rend()};
  }

  /// The world at a node. Nodes are asked for in their order, so that most of the last way there is
  /// shared; what a way holds was taken before and cannot fail.
  ClosedWorld const& world_at(std::uint32_t node) {
    auto const path = path_to(node);
    std::size_t shared = 0;
    while (shared < path_.size() && shared < path.size() && path_[shared].node == path[shared]) {
      ++shared;
    }
    while (path_.size() > shared) {
      path_.pop_back();
    }
    for (std::size_t i = shared; i < path.size(); ++i) {
      path_.push_back({path[i], path_.back().world});
      path_.back().world.take(nodes_[path[i]].choice);
    }
    return path_.back().world;
  }

  bool expand(std::uint32_t node) {
    ClosedWorld const& here = world_at(node);
    for (Choice const choice : here.enabled()) {
      ClosedWorld there = here;
      std::string wrong = there.take(choice);
      ++transitions_;
      if (options_.self_test && wrong.empty() && there.enabled().empty()) {
        wrong = "self-test: this is a way to the end";
      }
      if (!wrong.empty()) {
        report(node, choice, wrong);
        return false;
      }
      std::uint64_t const what_follows = there.what_follows();
      auto const [seen, is_new] = seen_.emplace(there.fingerprint(), what_follows);
      if (is_new) {
        nodes_.push_back({node, choice});
      } else if (seen->second != what_follows) {
        report(node, choice, "two states of one fingerprint differ in what may follow");
        return false;
      }
    }
    return true;
  }

  void report(std::uint32_t node, Choice choice, std::string const& wrong) const {
    ClosedWorld world(settings_, limits_, true);
    for (std::uint32_t const step : path_to(node)) {
      if (step != 0) {
        world.take(nodes_[step].choice);
      }
    }
    world.take(choice);
    std::printf("# %s\n", wrong.c_str());
    for (std::string const& line : world.commands()) {
      std::printf("%s\n", line.c_str());
    }
  }

  Options const options_;
  Limits const& limits_;
  lifecycle::Settings const settings_ = settings_of(limits_);
  std::vector<Node> nodes_;
  std::deque<Place> path_;  // from the start to the node that was asked for last
  std::unordered_map<std::uint64_t, std::uint64_t> seen_;  // fingerprint, what may follow
  std::uint64_t transitions_ = 0;
  std::uint64_t depth_ = 0;
  std::chrono::steady_clock::time_point const began_ = std::chrono::steady_clock::now();
};

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    std::string_view const word = argv[i];
    if (word == "--self-test") {
      options.self_test = true;
    } else if (word == "--states" && i + 1 < argc) {
      options.states = std::strtoull(argv[++i], nullptr, 10);
    } else if (word == "--world" && i + 1 < argc) {
      options.world = argv[++i];
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace
}  // namespace lastcall::simulation

int main(int argc, char** argv) {
  lastcall::simulation::Options options;
  if (!lastcall::simulation::parse(argc, argv, options)) {
    std::fprintf(stderr, "usage: explore [--states N] [--world WORDS] [--self-test]\n");
    return 2;
  }
  std::atomic<std::size_t> next{0};
  std::atomic<int> failed{0};
  auto const work = [&] {
    using lastcall::simulation::kWorlds;
    for (std::size_t i = next++; i < kWorlds.size(); i = next++) {
      if (std::string_view(kWorlds[i].name).find(options.world) != std::string_view::npos) {
        failed |= lastcall::simulation::Exploration(options, kWorlds[i]).run();
      }
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
