// The engine's processes besides its main one: how many were left behind, and which of them died
// first.
//
// The rest of the tree:   whole -> leaving -> gone      (or whole -> gone: none was left)
//
// Rules:
//  1. Processes that an engine leaves behind when it was asked to end have their grace, until the
//     KILL point; they are waited for until the shim has reported that none is left, and a moment
//     beyond the KILL.
//  2. A shim that does not report how many are left kills them after a second, and reports nothing.
//  3. The first death of the last seconds has caused the others, so a report names that one.
//  4. The death of a process that the preset lists as essential is the death of the engine. A main
//     process that was asked to end and outlives all of them has kBereft from the last of their
//     deaths: a server may wait for its open connections without end. While one of them lives, or
//     may live, the main process has its whole time.
//  5. Where the engine's own server ends its workers before it goes, a rest of nothing but workers
//     is killed at once: it outlived the one that should have ended it. Any other process may be
//     that server, behind a shell, and has the grace.
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

/// A server whose core is gone reports that to its clients, and has nothing else to finish.
inline constexpr Duration kBereft{2'000};

class EngineTree {
 public:
  enum class State : std::uint8_t { whole, leaving, gone };

  /// The main process ended at `at` on our order and left `alive` processes with this grace.
  void left_behind(Instant at, std::uint32_t alive, Duration grace);
  /// There is nothing to wait for: it ended by itself, its container is gone, or its shim does not
  /// report.
  void end(Instant at);
  void seen(Instant now, EngineTreeSeen const& seen);
  /// An engine runs (again).
  void forget();

  State state() const { return state_; }
  /// The time from which the rest counts as gone, whatever is reported; absent if nothing waits for
  /// it.
  std::optional<Instant> gone_by(Instant engine_kill_at) const;
  /// Sends KILL to all of the rest, before its time.
  void rest_killed(Instant now) { rest_killed_at_ = now; }
  bool is_rest_killed() const { return rest_killed_at_.has_value(); }
  void give_up(Instant now) { end(now); }
  /// The shim measures its own limit from here.
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
