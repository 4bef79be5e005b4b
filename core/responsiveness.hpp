// Tracks whether the engine responds. Unresponsiveness is a soft state that precedes a fatal
// verdict and can be undone.
//
// Rules:
//  1. The engine falls silent when a check or a canary has been unanswered for kSilenceLimit, when
//     its live tokens stall with work in flight for longer than a first token may take, and
//     at once when one of its processes was stopped. A byte that moved restarts each of these.
//  2. A byte, or a canary that was answered, breaks every silence. An answered check breaks that of
//     the checks, and that of a stopped process once a check has gone unanswered: checks may be
//     answered all the time while the tokens stall or the core is stopped.
//  3. Refused requests prove nothing. Silence that only a request could break ends when nothing was
//     in flight for kSilenceForgiven and no canary is out. That of a stopped process to which a
//     canary will be sent does not, because the answer will be a proof.
//  4. The engine falls silent at most once in kSilenceCycle.
//
// Values only, owned by the core's thread. Source: specification, 'Unresponsive'.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/instant.hpp"
#include "core/vocabulary.hpp"

namespace lastcall::lifecycle {

/// The parts of an engine that can be silent.
enum class Silence : std::uint8_t { none, checks, canary, tokens, process };

template <>
inline constexpr std::array<std::string_view, 5> vocabulary::kWordsOf<Silence>{
    "none", "checks", "canary", "tokens", "process"};

inline constexpr Duration kSilenceLimit{5'000};
inline constexpr Duration kSilenceCycle{10'000};
inline constexpr Duration kSilenceForgiven{15'000};
/// The time that a first token may take before any first token was seen.
inline constexpr Duration kFirstTokenUnknown{60'000};
/// Bytes that a process sent before it was stopped are read within this time.
inline constexpr Duration kStragglers{500};

class Responsiveness {
 public:
  /// The last sign of life, and since when each kind of answer has been missing.
  struct Signs {
    std::optional<Instant> progress_at;
    std::optional<Instant> check_at;          // the last answer of a check
    std::optional<Instant> unanswered_since;  // of the check that has been silent for longest
    std::optional<Instant> canary_since;
    std::optional<Instant> work_since;
    std::optional<Instant> idle_since;  // nothing in flight
    std::optional<Instant> tokens_at;   // when the live tokens were last read
  };

  /// A request has waited this long for its first token.
  void first_token(Duration waited);
  void process_stopped(Instant now, std::string name, bool will_be_asked);
  void no_proof_comes() { will_be_asked_ = false; }
  /// An earlier life found the engine silent.
  void restore(Instant now, Silence silence);

  void update(Instant now, Signs const& signs);
  /// The time at which update() may change something by itself.
  std::optional<Instant> next_deadline(Signs const& signs) const;

  Silence silence() const { return silence_; }
  bool is_stopped() const { return stopped_at_.has_value(); }
  bool waits_for_proof() const { return silence_ == Silence::process && will_be_asked_; }
  std::string const& stopped_name() const { return stopped_name_; }
  /// How long live tokens may stall.
  Duration patience() const;
  /// The longest wait for a first token that was seen; absent if none was.
  std::optional<Duration> longest_first_token() const { return longest_first_token_; }
  std::optional<Instant> fell_silent_at() const { return fell_silent_at_; }

 private:
  bool is_broken(Instant now, Signs const& signs) const;
  Silence found(Instant now, Signs const& signs) const;
  std::optional<Instant> forgiven_at(Signs const& signs) const;

  Silence silence_ = Silence::none;
  std::optional<Instant> fell_silent_at_;  // the last time
  std::optional<Instant> stopped_at_;  // when a process was stopped, if nothing has disproved it
  std::string stopped_name_;
  bool check_missed_it_ = false;
  bool will_be_asked_ = false;  // a canary will test the stopped process
  std::optional<Duration> longest_first_token_;
};

}  // namespace lastcall::lifecycle
