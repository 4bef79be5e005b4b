// The world around the core, on virtual time: a shim with its engine, SDK peers with their
// requests, the ingress with those that it relays, registries, hooks, operators. It reports facts
// and obeys orders, as the real shell and shim would.
//
// Invariants:
//  1. Deterministic: a plan decides everything, the clock is the agenda.
//  2. What a killed supervisor would not have received is not reported: connections end with it,
//     facts that happen meanwhile are in the next hello or lost.
//  3. The shim remembers the blob and fails safe by itself: KILL near D, exit at D.
//
// One thread owns it. Source: the shim's and the IPC's rules in docs/architecture.md.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/lifecycle.hpp"
#include "tests/simulation/cancels.hpp"
#include "tests/simulation/plan.hpp"
#include "tests/simulation/shim_model.hpp"

namespace lastcall::simulation {

class World {
 public:
  struct Shim : ShimModel {
    std::uint32_t number = 0;  // of its boot
    bool hello_told = false;   // to this supervisor life, on this connection
    bool main_killed = false;  // its exit was our KILL, or the shim's at the deadline
    bool failsafe_term = false;
    std::optional<Instant> deadline;
    std::optional<Instant> patience_ends;  // without an order to exit
    std::optional<int> exit_code;          // ordered by the core
    bool failed_safe = false;              // it had to exit by itself
  };
  struct Peer {
    lifecycle::PeerId conn = 0;
    bool alive = false;
    bool connected = false;
    std::uint32_t number = 0;
  };
  struct Request {
    std::uint32_t peer = 0;
    std::uint32_t bits = 0;
    std::string id;
    std::uint32_t parent = kNever;
    std::string root;  // the relayed one that it answers
    bool live = false;
    bool announced = false;  // begun at some supervisor
    bool ending = false;
    Instant ends_at;
    lifecycle::CancelMode reached = lifecycle::CancelMode::stop;
    bool cancelled = false;
    bool waits = false;  // for the answer to its question
  };

  explicit World(Plan const& plan);

  /// When something happens next; absent: nothing will.
  std::optional<Instant> next_at() const;
  /// Lets it happen: facts for the core are in inbox() afterwards.
  void happen();
  std::deque<lifecycle::Event>& inbox() { return inbox_; }
  /// The world's answer to the actions of a step.
  void obey(Instant now, lifecycle::Lifecycle& core, std::span<lifecycle::Action const> actions);

  /// The core answered `busy`: another boot is not finished.
  void refuse_shim();

  bool supervisor_up() const { return supervisor_up_; }
  /// Counts the lives: a change means that a new core is needed.
  std::uint32_t supervisor_life() const { return life_; }
  Shim const& shim() const { return shim_; }
  std::vector<Delivered>& delivered() { return delivered_; }
  /// Peers whose cancels were fetched; the owner clears it.
  std::vector<lifecycle::PeerId>& taken() { return taken_; }
  std::string const& stop_record() const { return stop_record_; }
  Instant now() const { return now_; }
  bool over() const { return over_; }

 private:
  void at(Instant when, What what, std::uint32_t a = 0, std::uint32_t b = 0, std::uint32_t c = 0);
  void after(std::uint32_t ms, What what, std::uint32_t a = 0, std::uint32_t b = 0,
             std::uint32_t c = 0);
  void notify(lifecycle::Event event);
  bool is_connected() const { return supervisor_up_ && shim_.connected && shim_.hello_told; }

  bool happen_to_processes(Entry const& entry);
  bool happen_to_peers(Entry const& entry);
  bool happen_to_requests(Entry const& entry);
  void happen_elsewhere(Entry const& entry);

  // shim and supervisor (world_processes.cpp)
  void start_supervisor();
  void kill_supervisor(std::uint32_t away_ms);
  void boot_shim();
  void connect_shim();
  void drop_shim(std::uint32_t away_ms, bool watched);
  void end_shim();
  void end_engine(lifecycle::EngineExit exit);
  void leave_behind();
  void end_rest();
  void signal_engine(bool kill, bool by_core);
  void stop_signal(std::uint32_t which);
  void arm_failsafe();
  void fail_safe();
  void checks();
  void tell_gauges(Entry const& e);
  void freeze(std::uint32_t ms, bool is_seen);
  void call_hook(Entry const& entry);
  void end_container(bool pod_goes);
  // peers (world_peers.cpp)
  void connect_peer(std::uint32_t peer);
  void drop_peer(std::uint32_t peer, std::uint32_t away_ms);
  void kill_peer(std::uint32_t peer);
  void begin_request(Entry const& entry);
  void name_request(Request& request);
  void start_ingress();
  void tell_begin(Request const& request, bool resumed);
  void end_request(std::uint32_t number, lifecycle::Outcome outcome);
  void take_cancels(lifecycle::Lifecycle& core, lifecycle::PeerId conn);
  /// The answer to its question; one that its connection does not carry any more is lost.
  void answer(lifecycle::PeerId conn, std::string_view id, bool admitted);
  void reach(Request& request, lifecycle::CancelMode mode);

  // orders (world_obey.cpp)
  struct Obey;

  Plan const& plan_;
  Instant now_;
  std::vector<std::pair<Entry, std::uint32_t>> agenda_;  // a heap: time, then order of entry
  std::uint32_t order_ = 0;
  std::deque<lifecycle::Event> inbox_;
  std::vector<Delivered> delivered_;
  std::vector<lifecycle::PeerId> taken_;

  bool supervisor_up_ = false;
  bool supervisor_left_ = false;
  std::uint32_t life_ = 0;
  bool over_ = false;
  std::string stop_record_;
  Shim shim_;
  std::uint32_t boots_ = 0;
  std::array<Peer, kPeers + 1> peers_;  // the last is the ingress
  lifecycle::PeerId next_conn_ = 1;
  std::vector<Request> requests_;
  std::array<lifecycle::CheckVerdict, 2> health_{};
  bool engine_answers_ = false;
  Instant frozen_until_{};
  bool pod_goes_ = false;
};

}  // namespace lastcall::simulation
