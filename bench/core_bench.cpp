// The pure core alone, without wire and system: what a request costs it, with how many in flight.
//
// Time is virtual here; what Google Benchmark measures is the cost of the steps. The argument of a
// benchmark is the number of requests in flight.
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/lifecycle.hpp"

namespace {

using namespace lastcall::lifecycle;

constexpr PeerId kPeer = 1;
constexpr std::string_view kRoot = "root";
constexpr std::size_t kBatch = 1'000;

/// As long as a UUID.
std::string id_of(std::int64_t number) {
  std::string const digits = std::to_string(number);
  return std::string(36 - digits.size(), '0') + digits;
}

RequestBegun begun(std::string id) {
  RequestBegun request;
  request.peer = kPeer;
  request.id = std::move(id);
  request.root = kRoot;
  request.endpoint = "generate";
  request.model = "model";
  return request;
}

/// The requests of a peer have no limit, because the largest count is above the default.
Settings unlimited() {
  Settings settings;
  settings.peer_requests = std::numeric_limits<decltype(settings.peer_requests)>::max();
  settings.peers_requests = std::numeric_limits<decltype(settings.peers_requests)>::max();
  return settings;
}

/// A core that serves, with one peer that has `count` requests in flight.
struct Serving {
  explicit Serving(std::int64_t count) : core(unlimited()) {
    step(SupervisorStarted{});
    ShimHello shim;
    shim.boot = "boot";
    shim.engine = EngineState::running;
    step(shim);
    PeerConnected peer;
    peer.peer = kPeer;
    step(peer);
    EndpointRegistered endpoint;
    endpoint.peer = kPeer;
    endpoint.endpoint = "generate";
    step(endpoint);
    for (std::int64_t i = 0; i < count; ++i) {
      step(begun(id_of(i)));
    }
  }

  void step(Event const& event) {
    now += Duration{1};
    benchmark::DoNotOptimize(core.step(now, event));
  }

  Instant now = instant_from_ms(1'000'000);
  Lifecycle core;
};

void begin_and_end(benchmark::State& state) {
  Serving serving(state.range(0));
  Event const begin = begun(id_of(-1));
  RequestEnded ended;
  ended.peer = kPeer;
  ended.id = id_of(-1);
  Event const end = ended;
  for (auto _ : state) {
    serving.step(begin);
    serving.step(end);
  }
  if (serving.core.requests().in_flight() != static_cast<std::size_t>(state.range(0))) {
    state.SkipWithError("the core does not hold what was begun");
  }
}

/// Measures an operator's cancel of one root, until the last id was handed over.
void cancel_root(benchmark::State& state) {
  CancelRequested cancel;
  cancel.root = kRoot;
  cancel.reason = CancelReason::operator_;
  for (auto _ : state) {
    state.PauseTiming();
    auto serving = std::make_unique<Serving>(state.range(0));
    Event const event = cancel;
    std::size_t handed_over = 0;
    state.ResumeTiming();
    serving->step(event);
    for (std::size_t more = 1; more != 0; handed_over += more) {
      more = serving->core.take_cancels(kPeer, kBatch).ids.size();
    }
    state.PauseTiming();
    serving.reset();
    if (handed_over != static_cast<std::size_t>(state.range(0))) {
      state.SkipWithError("not every request was cancelled");
      break;  // the library ends the program when a loop with an error goes on
    }
    state.ResumeTiming();
  }
}

/// Measures the whole life of one request of another root: it begins, an operator cancels it, it
/// ends.
void cancel_one(benchmark::State& state) {
  Serving serving(state.range(0));
  RequestBegun begin = begun(id_of(-1));
  begin.root = "another";
  CancelRequested cancel;
  cancel.root = begin.root;
  cancel.reason = CancelReason::operator_;
  RequestEnded ended;
  ended.peer = kPeer;
  ended.id = begin.id;
  Event const begins = begin;
  Event const cancels = cancel;
  Event const ends = ended;
  std::size_t handed_over = 0;
  for (auto _ : state) {
    serving.step(begins);
    serving.step(cancels);
    handed_over += serving.core.take_cancels(kPeer, kBatch).ids.size();
    serving.step(ends);
  }
  if (handed_over != static_cast<std::size_t>(state.iterations())) {
    state.SkipWithError("not every cancel was handed over");
  }
}

/// One decision of admission, of each kind, with so many waiters: a wait that begins, one that
/// hangs up, and a refusal; then an end with the grant that follows it, and a new waiter.
void decide_admission(benchmark::State& state) {
  auto const waiting = static_cast<std::uint32_t>(state.range(0));
  AdmissionLimits limits;
  limits.running = 256;
  limits.waiting = waiting + 1;
  Admission admission(limits);
  Instant now = instant_from_ms(1'000'000);
  std::vector<Admission::Ticket> running;
  for (std::uint32_t i = 0; i < 256; ++i) {
    running.push_back(admission.arrive(now, i));
  }
  for (std::uint32_t i = 0; i < waiting; ++i) {
    admission.arrive(now, i);
  }
  std::size_t turn = 0;
  for (auto _ : state) {
    now += Duration{1};
    Admission::Ticket const waiter = admission.arrive(now, 1);
    benchmark::DoNotOptimize(admission.judge());
    admission.leave(now, waiter);
    Admission::Ticket& place = running[turn++ % running.size()];
    admission.leave(now, place);
    auto const granted = admission.grant(now);
    place = granted ? granted->ticket : admission.arrive(now, 2);
    if (granted) {
      admission.arrive(now, 3);
    }
    benchmark::DoNotOptimize(place);
  }
  if (admission.running() != 256 || admission.waiting() != waiting) {
    state.SkipWithError("limit and queue are not exact");
  }
  state.SetItemsProcessed(state.iterations() * 6);  // decisions: items a second show their cost
}

BENCHMARK(decide_admission)->Arg(0)->Arg(64)->Arg(100'000);
BENCHMARK(begin_and_end)->Arg(0)->Arg(1'000)->Arg(10'000)->Arg(100'000);
BENCHMARK(cancel_one)->Arg(1'000)->Arg(10'000)->Arg(100'000);
BENCHMARK(cancel_root)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
