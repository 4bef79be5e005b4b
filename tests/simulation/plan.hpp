// A random lifecycle, decided before it runs: settings, what happens to the world and when, and how
// the world answers the core's orders.
//
// Rules:
//  1. A plan is the whole input: the same plan gives the same lifecycle, so a shrunk plan is a
//     proof.
//  2. Stimuli are independent of each other: any of them may be dropped, and the rest still means
//     something. That is what makes shrinking work.
//
// Values only; the generator is a pure function of the seed.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/settings.hpp"

namespace lastcall::simulation {

using lifecycle::Duration;
using lifecycle::Instant;

/// splitmix64: small, fast, the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(next() % n); }
  bool chance(std::uint32_t percent) { return below(100) < percent; }
  template <typename T, std::size_t N>
  T pick(std::array<T, N> const& from) {
    return from[below(N)];
  }

 private:
  std::uint64_t state_;
};

enum class What : std::uint8_t {
  // Stimuli: what the outside does. `a`, `b`, `c` mean what the comment says.
  stop_signal,        // a: which of TERM, INT, QUIT
  own_signal,         //
  deletion_seen,      // a: from 3 on the pod was read, with a grace of that many times 4 s
  drain,              // a: timeout in ms, 0 for none
  drain_exit,         // a: timeout in ms, 0 for none
  resume,             //
  engine_dies,        // a: code, b: signal
  shim_drops,         // a: away for ms, b: watched
  shim_dies,          //
  supervisor_dies,    // a: away for ms
  peer_joins,         // a: peer
  peer_drops,         // a: peer, b: away for ms, 0 for ever
  peer_dies,          // a: peer
  request_begins,     // a: peer, b: lasts ms, c: bits, see kRequest...
  operator_cancels,   // a: request number, b: mode
  peer_cancels,       // a: request number, b: mode
  peer_fatal,         // a: peer
  health_turns,       // a: check, b: verdict from now on
  repeat_end,         // a: request number: an end that was already sent
  process_dies,       // a: 1 one that the engine cannot be without
  endpoint_vanishes,  // a: peer, b: endpoint
  gauges_say,         // a: figure, 1000 for unreadable, b: 1 with the load counter
  progress,           // a: request number
  limits_change,      // a: may run, b: may wait
  load_told,          // a: peer, b: percent of its blocks in use, c: 1 by the gauges
  process_stops,      // a: stopped for ms, b: 1 the shim sees it
  tokens_say,         // a: figure, b: where the counter of live tokens stands
  engine_hook,        // a: 0 a restart of the container, 1 the pod goes, 2 and it is said first
  // Consequences: what the world does because of the above or of an order.
  supervisor_returns,
  shim_returns,
  shim_boots,
  shim_times_out,   // a: boot number
  engine_is_up,     // a: boot number
  engine_ends,      // a: boot number, b: code, c: signal
  rest_ends,        // a: boot number: the last of the engine's processes
  container_ends,   // a: 1 the pod goes
  engine_replaced,  // a: supervisor life
  peer_returns,
  request_ends,   // a: request number, b: outcome
  cancel_done,    // a: request number
  checks_due,     // a: supervisor life
  registry_says,  // a: supervisor life, b: registry, c: confirmed
  cleanup_says,   // a: supervisor life, b: item, c: outcome
  sdk_says,       // a: supervisor life, b: peer
  token_leaves,   // a: supervisor life, b: number
  token_comes,    // a: supervisor life, b: number, c: outcome
};

inline constexpr std::uint32_t kRequestEndpoint = 3;      // of kPeerEndpoints
inline constexpr std::uint32_t kRequestAdmit = 4;         // asks for admission
inline constexpr std::uint32_t kRequestChild = 8;         // of the peer's last request
inline constexpr std::uint32_t kRequestIgnoresStop = 16;  // goes on until it is killed
inline constexpr std::uint32_t kRequestIgnoresAll = 32;
inline constexpr std::uint32_t kRequestConfirms = 64;      // cancel.done before the end
inline constexpr std::uint32_t kRequestPriorityShift = 8;  // three bits
// An engine's request that answers the newest one which the ingress relays: by the same id, or by
// an id of its own and that one as its root.
inline constexpr std::uint32_t kRequestServes = 1U << 11U;
inline constexpr std::uint32_t kRequestServesByRoot = 1U << 12U;

inline constexpr std::array kPeerEndpoints{"generate", "decode", ""};  // "": undeclared

struct Entry {
  Instant at;
  What what = What::stop_signal;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
};

inline constexpr std::uint32_t kNever = 0xffffffffU;
inline constexpr std::uint32_t kPeers = 2;
inline constexpr std::uint32_t kRelay = kPeers;  // stands for the ingress where a peer is named

/// How the world answers; milliseconds, kNever where it never does.
struct Manners {
  std::uint32_t engine_loads = 0;
  std::uint32_t engine_term_ms = 50;  // from TERM to its exit
  std::uint32_t engine_term_code = 0;
  std::uint32_t engine_term_signal = 0;
  std::uint32_t engine_kill_ms = 5;
  std::array<std::uint32_t, 2> registry_ms{20, 20};
  std::uint32_t registry_fails = 0;    // bit per registry
  std::uint32_t registry_repeats = 0;  // answers twice
  std::array<std::uint32_t, 6> cleanup_ms{10, 10, 10, 10, 10, 10};
  std::uint32_t cleanup_fails = 0;  // bit per item
  std::array<std::uint32_t, kPeers> ack_ms{10, 10};
  std::uint32_t cancel_ms = 30;
  std::uint32_t check_interval_ms = 2000;
  std::uint32_t container_restarts_ms = kNever;  // after the shim's exit
  bool run = false;                              // one container
  bool alone = false;                            // no shim: preStop mode
  std::uint32_t replaced_ms = 300;               // from the wait for it to another engine
  std::uint32_t token_ms = 20;                   // of a request of one token
  std::uint32_t token_outcome = 0;
  bool timer_first = true;  // of a timer and an event at the same instant
  bool relays = false;      // there is an ingress
  bool critical_peers = false;
  bool watched_peers = true;
  /// After an ordered end; kNever: the shim does not report it.
  std::uint32_t left_behind = kNever;
  std::uint32_t rest_ms = 100;  // until none of them is left by itself
};

struct Plan {
  std::uint64_t seed = 0;
  lifecycle::Settings settings;
  Manners manners;
  std::vector<Entry> stimuli;  // in the order of time
};

Plan generate(std::uint64_t seed);

}  // namespace lastcall::simulation
