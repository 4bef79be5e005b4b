// A world so small that everything that can happen in it can be tried: one shim, one engine, one
// peer with a request on a graceful and one on another endpoint, one registry, one cleanup hook; or
// an ingress with a request of which the peer's is a part; or gauges and no peer.
// Time moves only by the core's own timer, so states merge.
//
// Rules:
//  1. enabled() lists what may happen next; take() lets it happen. A copy goes on by itself.
//  2. fingerprint() is equal where everything that may follow is: it holds the core's and the
//     world's state relative to now, and of what is kept for a later life only what one may read.
//
// One thread owns it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/lifecycle.hpp"
#include "tests/simulation/invariants.hpp"

namespace lastcall::simulation {

enum class Choice : std::uint8_t {
  time_passes,  // to the core's next deadline
  signal,
  drain,
  drain_exit,
  resume,
  engine_ends,
  engine_is_killed,  // by something else
  begin_graceful,
  begin_other,
  end_graceful,
  end_other,
  registry_confirms,
  registry_fails,
  hook_ends,
  registries_close,
  peer_acks,
  peer_fatal,
  shim_drops,
  shim_returns,
  peer_drops,
  peer_returns,
  supervisor_dies,
  own_signal,
  hook_called,
  deletion_seen,
  check_passes,
  check_fails,
  engine_replaced,
  deletion_read,  // with a grace that is shorter than the settings'
  gauges_zero,
  gauges_busy,
  token_generated,
  token_refused,
  check_times_out,
  process_stops,
  bytes_move,
};
inline constexpr std::uint32_t kChoices = 36;

/// How often each kind of thing may happen: small limits make a world that can be exhausted.
struct Limits {
  char const* name = "";
  std::uint32_t signals = 0;
  std::uint32_t drains = 0;  // drain, drain --exit, resume
  std::uint32_t kills = 0;   // of the supervisor
  std::uint32_t shim_drops = 0;
  std::uint32_t peer_drops = 0;
  std::uint32_t faults = 0;    // SDK fatal, a kill from outside, a registry that fails
  std::uint32_t requests = 0;  // 1: graceful, 2: the other one too
  bool relays = false;         // the other request is the ingress's, of the same id
  bool exclusive = false;      // ... and nothing else reaches the engine
  std::uint32_t hooks = 0;     // preStop calls; then there is no shim, and signals are our own
  std::uint32_t freezes = 0;   // a check that the engine does not answer, a process that is stopped
  std::uint32_t restarts = 0;  // signals of our own beside a shim, whose pod may be read as deleted
  bool gauges = false;         // no peer: the engine's gauges show it, and a barrier
  bool canary = false;         // ... and a canary
};

class ClosedWorld {
 public:
  /// `recording`: keep the commands, for a path that is to be printed.
  ClosedWorld(lifecycle::Settings const& settings, Limits const& limits, bool recording = false);

  std::vector<Choice> enabled() const;
  /// Returns what is wrong after it; empty when all invariants hold.
  std::string take(Choice choice);
  std::uint64_t fingerprint() const;
  /// The choices that are enabled, and when the next deadline is, as one number.
  std::uint64_t what_follows() const;
  /// The commands so far, as a scenario.
  std::vector<std::string> const& commands() const { return commands_; }

 private:
  struct Request {
    bool live = false;
    bool ever = false;
  };

  std::string notify(lifecycle::Event event);
  void obey(std::span<lifecycle::Action const> actions);
  std::string start_again();
  std::string shim_says_hello();
  std::string peer_says_hello();
  std::string begin(std::size_t which, bool resumed);
  lifecycle::PeerId owner(std::size_t which) const;
  bool can_speak(std::size_t which) const { return is_relayed(which) || peer_connected_; }
  bool is_relayed(std::size_t which) const { return which == 1 && limits_.relays; }
  void take_cancels(lifecycle::PeerId peer);
  std::string take_signal();
  std::string end(std::size_t which);
  std::string end_engine(int signal);
  std::string take_alone(Choice choice);
  std::string take_gauges(Choice choice);
  std::string take_cleanup(Choice choice);
  void add_alone(std::vector<Choice>& choices) const;
  std::string take_frozen(Choice choice);
  void add_frozen(std::vector<Choice>& choices) const;
  bool is_alone() const { return limits_.hooks > 0; }
  bool is_sidecar() const { return limits_.restarts > 0; }

  lifecycle::Settings const& settings_;
  Limits const& limits_;
  Checker checker_;
  std::optional<lifecycle::Lifecycle> core_;
  Instant now_;
  bool const recording_;
  std::vector<Delivered> delivered_;
  std::vector<std::string> commands_;

  bool over_ = false;
  std::uint32_t kills_ = 0;
  std::uint32_t signals_ = 0;
  std::uint32_t drains_ = 0;
  std::uint32_t shim_drops_ = 0;
  std::uint32_t peer_drops_ = 0;
  std::uint32_t faults_ = 0;
  std::uint32_t hooks_ = 0;
  std::uint32_t restarts_ = 0;
  std::uint32_t freezes_ = 0;
  bool deletion_ = false;
  ShimModel shim_;
  std::string record_;  // stop.json
  bool peer_connected_ = false;
  lifecycle::PeerId conn_ = 0;
  std::array<Request, 2> requests_;
  bool is_cut_ = false;  // what the ingress relays
  bool registry_asked_ = false;
  bool hook_runs_ = false;
  bool registries_closing_ = false;
  bool ack_asked_ = false;
  std::optional<lifecycle::AskToken> token_out_;
  bool token_leaves_ = false;
};

}  // namespace lastcall::simulation
