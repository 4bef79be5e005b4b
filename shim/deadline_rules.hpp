// The times at which the shim acts by itself, all counted back from the deadline of the stop.
//
// Invariants:
//  1. D is the last `deadline_at_ms` received for this stop. Without one it is the stop's start +
//     min(--grace, the welcome's grace, the pod's grace - 2 s), but at least 1 s after the start.
//  2. The margins scale with S, the length of the stop, exactly as the supervisor's budgets do
//     (a contract test compares both).
//  3. While a deadline runs, there is always a next step, whatever the state of the connection.
//
// Pure values on an explicit `now`. Source: specification, 'Failing safe'.
#pragma once

#include <optional>

#include "base/instant.hpp"
#include "shim/state_table.hpp"

namespace lastcall::shim {

inline constexpr Duration kMinimumTotal{1'000};
inline constexpr Duration kDefaultReserve{5'000};
inline constexpr Duration kAckTimeout{1'000};        // a silent supervisor counts as gone
inline constexpr Duration kExitOrderTimeout{5'000};  // engine's tree ended, and no `exit` came
inline constexpr Duration kTrackerMoment{2'000};     // for a resource tracker, after all others
inline constexpr Duration kServiceMoment{1'000};     // for the supervisor's own end
inline constexpr Duration kLeaveTimeout{5'000};      // survivors of KILL, if no deadline is nearer
inline constexpr Duration kLastMoment{100};          // the minimum, because dying takes a moment
inline constexpr Duration kLastWords{700};  // for the reader of the log, to take the report
/// The same in a stop, if that much time is left.
inline constexpr Duration kLongestLastWords{5'000};

/// The lengths that the supervisor's budgets derive from the same total.
struct Margins {
  Duration total{};
  Duration reserve{};
  Duration kill{};

  constexpr Instant hold_until(Instant deadline) const { return deadline - reserve; }
  constexpr Instant shim_term_at(Instant deadline) const { return deadline - 3 * kill / 2; }
  constexpr Instant engine_kill_at(Instant deadline) const { return deadline - kill; }
};

constexpr Margins margins(Duration total, Duration reserve) {
  Duration const s = total < kMinimumTotal ? kMinimumTotal : total;
  return {.total = s,
          .reserve = reserve < s / 2 ? reserve : s / 2,
          .kill = s / 8 < Duration{1'000} ? s / 8 : Duration{1'000}};
}

/// The known times of a stop, and its bounds.
class StopClock {
 public:
  StopClock(Duration grace, std::optional<Duration> pod_grace,
            Duration rest_grace = Duration{10'000})
      : grace_(grace), pod_grace_(pod_grace), rest_grace_(rest_grace) {}

  void learn_settings(std::optional<Duration> grace, std::optional<Duration> reserve);
  void learn_rest_grace(Duration grace) { rest_grace_ = grace; }
  /// The first call fixes the start.
  void begin(Instant now);
  /// A later deadline replaces an earlier one.
  void learn_deadline(Instant now, Instant deadline);
  void forget() { begun_at_ = given_ = std::nullopt; }

  bool running() const { return begun_at_.has_value(); }
  /// This and current_margins() are valid only while running().
  Instant deadline() const;
  Margins current_margins() const;
  Duration rest_grace() const { return rest_grace_; }

 private:
  Duration own_total() const;

  Duration grace_;
  std::optional<Duration> pod_grace_;
  Duration rest_grace_;
  std::optional<Duration> welcome_grace_;
  std::optional<Duration> welcome_reserve_;
  std::optional<Instant> begun_at_;
  std::optional<Instant> given_;
  Duration given_total_{};
};

/// The state of the supervisor, as the shim knows it.
enum class Standing : unsigned char {
  never,    // no welcome was ever received
  present,  // connected, and it acknowledges
  gone,     // it was connected, and is not now
};

struct Situation {
  State state = State::waiting;
  Standing standing = Standing::never;
  Instant start_due{};                   // the latest time of an order to start
  bool engine_started = true;            // false: a stop came first
  bool has_service = false;              // the shim starts its supervisor, and starts it again
  Instant engine_ended_at{};             // if the engine has ended
  bool engine_ordered = false;           // the engine ended by order
  std::optional<Instant> tree_ended_at;  // since when nothing of the tree is left
};

struct Due {
  Event event;
  Instant at;
};

/// The next step if nothing else happens.
std::optional<Due> next_due(Situation const& situation, StopClock const& clock);

/// The time from which the rest of an engine whose main process has ended is killed; if absent,
/// only the shim's exit kills it.
std::optional<Instant> rest_kill_at(Situation const& situation, StopClock const& clock);

/// The time from which a resource tracker is killed, too, if all others have been gone since
/// `since`.
Instant tracker_kill_at(std::optional<Instant> since, Instant now, StopClock const& clock);

/// The shim's supervisor has until this time to end; it counts from when the log last had no room
/// for pending lines. A supervisor may be stuck, so D bounds it.
Instant service_end_at(Instant leaving_since, std::optional<Instant> log_was_full_at,
                       StopClock const& clock);

/// The time at which leaving ends, even if a process cannot be killed.
Instant give_up_at(Instant leaving_since, StopClock const& clock);

/// How long the report may wait for the reader of the log: in a stop, at most 5 s of the time that
/// is left.
Duration last_words_wait(Instant now, StopClock const& clock);

}  // namespace lastcall::shim
