// The engine's processes besides its main one: how many were left behind, and which of them died
// first.
//
// The rest of the tree:   whole -> leaving -> gone      (or whole -> gone: none was left)
//
// Rules:
//  1. If an engine that was asked to end leaves processes behind, they have their grace, at most
//     until the KILL point. The stop waits for them until the shim has reported that none is left,
//     but only for a moment beyond the KILL.
//  2. A shim that does not report how many are left kills them after a second, and reports nothing.
//  3. The first death of the last seconds counts as the cause of the others, so a report names that
//     one.
//  4. The death of a process that the preset lists as essential is the death of the engine. A main
//     process that was asked to end and outlives all of them has kBereft after the last of their
//     deaths, because a server may wait for its open connections without end. While one of them
//     lives, or may live, the main process keeps its whole time.
//  5. If the engine's own server ends its workers before it exits, and only workers are left, they
//     are killed at once: the server that should have ended them is gone. Any other process that is
//     left may be that server, started by a shell, so it gets the grace.
//
// Owned by the core's thread. Source: specification, 'Phase 3'; specification, 'Failing safe'.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/event.hpp"
#include "core/instant.hpp"
#include "core/settings.hpp"

namespace lastcall::lifecycle {

/// A server without its core reports that to its clients, and has nothing else to finish.
inline constexpr Duration kBereft{2'000};

class EngineTree {
 public:
  enum class State : std::uint8_t { whole, leaving, gone };

  /// The main process ended at `at` on our order and left `alive` processes with this grace.
  void left_behind(Instant at, std::uint32_t alive, Duration grace);
  /// Nothing is left to wait for: the engine ended by itself, its container is gone, or its shim
  /// does not report what is left.
  void end(Instant at);
  void seen(Instant now, EngineTreeSeen const& seen);
  /// An engine runs, for the first time or again.
  void forget();

  State state() const { return state_; }
  /// The time from which the rest counts as gone, whatever is reported, at the latest `killed_by`;
  /// absent if nothing waits for it.
  std::optional<Instant> gone_by(Instant killed_by) const;
  /// KILL was sent to all that is left, before its time.
  void rest_killed(Instant now) { rest_killed_at_ = now; }
  bool is_rest_killed() const { return rest_killed_at_.has_value(); }
  void give_up(Instant now) { end(now); }
  /// The time from which the shim counts its own limit.
  Instant counted_from(Instant main_ended_at) const;
  std::uint32_t alive() const { return alive_; }
  std::vector<std::string> const& names() const { return names_; }

  void died(Instant now, EngineProcessDied const& death);
  /// The main process, which was asked to end, has lost the last essential one.
  void main_bereft(Instant now, Duration grace) { main_ends_by_ = now + grace; }
  /// The time at which a main process without essential processes is killed; absent if that is not
  /// known.
  std::optional<Instant> main_ends_by() const { return main_ends_by_; }
  void main_killed() { main_ends_by_.reset(); }
  /// 'VLLM::EngineCore, pid 17, vanished 0.8 s before (signal 9)'; empty if none has died recently.
  std::string first_death(Instant now) const;

 private:
  State state_ = State::whole;
  Instant grace_ends_at_{};
  std::optional<Instant> rest_killed_at_;
  std::optional<Instant> gone_at_;
  std::uint32_t alive_ = 0;
  std::vector<std::string> names_;
  std::optional<EngineProcessDied> first_death_;
  std::optional<Instant> main_ends_by_;
};

/// `patterns` are names in which a trailing '*' matches any suffix.
bool matches_any(std::span<std::string const> patterns, std::string_view name);

/// Whether everything that is left is known and matches `patterns`, except for Python's resource
/// trackers, which end by themselves.
bool are_workers(std::span<std::string const> patterns, EngineTreeSeen const& rest);

/// Whether no process that matches `patterns` is known to outlive this death.
bool is_last_of(std::span<std::string const> patterns, EngineProcessDied const& death);

}  // namespace lastcall::lifecycle
