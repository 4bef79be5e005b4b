// An answer that may go on at another worker: what is recorded of it, and whether and how it goes
// on.
//
// Rules:
//  1. Recorded are streams of completions and chat completions, while `migration.by` is not `off`
//     and the client does not forbid it (`X-Lastcall-Migration: never`). Anything else flows
//     through untouched.
//  2. What the worker of a leg is taken for decides what is sent to it (worker_modes.hpp).
//  3. How often an answer goes on is decided by request_risk.hpp.
//
// Pure, no thread rule. Source: docs/router.md, 'Migration'; router/continuation/continuation.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "router/call.hpp"
#include "router/continuation/continuation.hpp"
#include "router/continuation/hand_off.hpp"

namespace lastcall::router {

// The leg is silent, and has not ended; its worker has also left.
inline constexpr std::string_view kStall = "stall";
inline constexpr std::string_view kGone = "gone";
// Its worker has announced that it will cut the answer.
inline constexpr std::string_view kHandOff = "hand_off";

/// Why legs failed and why the answer does not go on. Most answers have neither, and do not pay.
class Causes {
 public:
  std::string_view why_not() const { return words_ ? words_->why_not : std::string_view(); }
  std::string_view reason() const { return words_ ? words_->reason : std::string_view(); }
  void set_why_not(std::string_view why) { words().why_not = why; }
  void set_reason(std::string_view reason) { words().reason = reason; }
  /// Keeps the reason of a failure, whichever leg has failed.
  continuation::Received noted(continuation::Received received);

 private:
  struct Words {  // of closed sets; they live for ever
    std::string_view why_not;
    std::string_view reason;
  };
  Words& words();

  std::unique_ptr<Words> words_;
};

class Seam {
 public:
  /// The request is whole; `call` outlives it.
  void begin(Call const& call);
  bool is_recording() const { return story_ != nullptr; }
  /// The facts that are known of an answer that is recorded.
  std::optional<continuation::Known> known() const;

  /// The next leg is with a worker of that mode; `body` gets what it sends where that is not the
  /// client's own. False: the worker cannot take it.
  bool prepare(continuation::Mode mode, std::string& body);
  /// That mode, for the leg that was prepared last.
  continuation::Mode mode() const { return mode_; }
  /// It has answered.
  void begin_leg() { story_->begin_leg(mode_); }
  continuation::Received receive(std::string_view payload, std::string& out);
  continuation::Received leg_ended(std::string& out);

  enum class Going : std::uint8_t {
    on,        // prepare() makes the body of a continuation
    finished,  // nothing was left to be sent
    refused,   // why_not() returns why
  };
  /// The text of continuation::ids_to_prove(), as a worker reports it.
  void prove(std::string_view text) { story_->transcript().confirm(text); }
  /// After a failure of the leg, for `reason`; `limit`: where it may go to no other worker.
  Going go_on(Call const& call, std::string_view reason, continuation::Refused limit,
              std::string& out);
  // --- early hand-off (continuation/hand_off.hpp) ---
  /// Nothing where ids and text are not level just now.
  std::optional<std::string> warming_body(continuation::Mode mode);
  /// From now on receive() and leg_ended() are of the old leg, and what they receive is held.
  /// Returns the body of the new one, of a worker of that mode; nothing: not now.
  std::optional<std::string> cut(continuation::Mode mode);
  bool is_holding() const;
  continuation::Received receive_next(std::string_view payload, std::string& out);
  continuation::Received release(std::string& out);

  /// No worker gets it.
  void give_up(continuation::Refused why);
  /// A closed set of words; lives for ever.
  std::string_view why_not() const { return causes_.why_not(); }
  std::string_view reason() const { return causes_.reason(); }
  unsigned moves() const { return moves_; }
  /// The client has something of the answer's text.
  bool has_begun() const { return story_ && story().known().transcript.has_text(); }
  /// The record, while there is one.
  continuation::Continuation const& story() const { return *story_; }
  std::size_t capacity() const;
  /// Gives back what is recorded, for good. False: not now, since the answer is on the move.
  bool forget();

 private:
  // A request that is not recorded, and an answer that nobody hands over, do not pay for these.
  std::unique_ptr<continuation::Continuation> story_;
  std::unique_ptr<continuation::HandOff> hand_off_;
  Causes causes_;
  unsigned moves_ = 0;
  continuation::Mode mode_ = continuation::Mode::none;
};

/// About how many prompt and answer have; where none was reported, four bytes are one.
std::uint64_t tokens_of(Seam const& seam, Call const& call);

}  // namespace lastcall::router
