// An answer that may continue at another worker: its record, and whether and how it continues.
//
// Rules:
//  1. Streams of completions and chat completions are recorded, while `migration.by` is not `off`
//     and the client does not forbid it (`X-Lastcall-Migration: never`). Everything else is relayed
//     unchanged.
//  2. The assumed mode of a leg's worker decides what is sent to it (worker_modes.hpp).
//  3. request_risk.hpp decides how often an answer may continue.
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
#include "router/continuation/held_leg.hpp"

namespace lastcall::router {

// The leg has been silent for too long without ending. `gone`: its worker has left, too.
inline constexpr std::string_view kStall = "stall";
inline constexpr std::string_view kGone = "gone";
// The bytes that arrive are not HTTP.
inline constexpr std::string_view kMalformed = "malformed";
// Its worker has announced that it will cut the answer.
inline constexpr std::string_view kHandOff = "hand_off";

/// Why legs failed, and why the answer does not continue. Most answers have neither, and do not pay
/// for them.
class Causes {
 public:
  std::string_view why_not() const { return words_ ? words_->why_not : std::string_view(); }
  std::string_view reason() const { return words_ ? words_->reason : std::string_view(); }
  /// The reason why a leg failed whose output the client has, or would have.
  std::string_view cause() const { return words_ ? words_->cause : std::string_view(); }
  void set_why_not(std::string_view why) { words().why_not = why; }
  void set_reason(std::string_view reason) { words().reason = reason; }
  void set_cause(std::string_view reason) { words().cause = reason; }
  /// Keeps the reason of a failure, whichever leg failed.
  continuation::Received noted(continuation::Received received);

 private:
  struct Words {  // static texts of closed sets
    std::string_view why_not;
    std::string_view reason;
    std::string_view cause;
  };
  Words& words();

  std::unique_ptr<Words> words_;
};

class Seam {
 public:
  /// The request is complete; `call` outlives it.
  void begin(Call const& call);
  bool is_recording() const { return story_ != nullptr; }
  /// The facts that are known about the answer; absent if it is not recorded.
  std::optional<continuation::Known> known() const;

  /// The next leg goes to a worker of that mode; `body` is set if the leg's body is not the
  /// client's own. Returns false if such a worker cannot continue the answer.
  bool prepare(continuation::Mode mode, std::string& body);
  /// The mode of the leg that was prepared last.
  continuation::Mode mode() const { return mode_; }
  /// Called when that leg has answered.
  void begin_leg() { story_->begin_leg(mode_); }
  continuation::Received receive(std::string_view payload, std::string& out);
  continuation::Received leg_ended(std::string& out);

  enum class Going : std::uint8_t {
    on,        // prepare() makes the body of a continuation
    finished,  // nothing was left to send
    refused,   // why_not() returns the reason
  };
  /// Receives the text to which a worker converted continuation::ids_to_prove().
  void prove(std::string_view text) { story_->transcript().confirm(text); }
  /// Decides how to continue after the leg failed for `reason`; `limit` is set if no other worker
  /// may get it.
  Going go_on(Call const& call, std::string_view reason, continuation::Refused limit,
              std::string& out);
  // --- early hand-off (continuation/held_leg.hpp) ---
  /// The body that warms another worker's cache; absent if ids and text are not level now.
  std::optional<std::string> warming_body(continuation::Mode mode);
  /// From now on receive() and leg_ended() are for the old leg, and the bytes that they receive are
  /// held. Returns the body of the new one, for a worker of that mode; absent if that is impossible
  /// now.
  std::optional<std::string> cut(continuation::Mode mode);
  bool is_holding() const;
  continuation::Received receive_next(std::string_view payload, std::string& out);
  continuation::Received release(std::string& out);

  /// Called when no worker gets the next leg.
  void give_up(continuation::Refused why);
  /// Both texts are static and from a closed set.
  std::string_view why_not() const { return causes_.why_not(); }
  std::string_view reason() const { return causes_.reason(); }
  /// Why the answer has to leave a worker: the failures of workers that have not proven that they
  /// continue it change nothing for its client.
  std::string_view cause() const { return causes_.cause(); }
  unsigned moves() const { return moves_; }
  /// Whether the client has a part of the answer's text.
  bool has_begun() const { return story_ && story().known().transcript.has_text(); }
  /// The record; only while is_recording() is true.
  continuation::Continuation const& story() const { return *story_; }
  std::size_t capacity() const;
  /// Releases the record permanently. Returns false if that is impossible now, because the answer
  /// moves.
  bool forget();

 private:
  // Requests that are not recorded, and answers that are not handed over, do not pay for these.
  std::unique_ptr<continuation::Continuation> story_;
  std::unique_ptr<continuation::HeldLeg> held_leg_;
  Causes causes_;
  unsigned moves_ = 0;
  continuation::Mode mode_ = continuation::Mode::none;
};

/// The approximate number of tokens of prompt and answer; if the engine did not report them, four
/// bytes count as one token.
std::uint64_t tokens_of(Seam const& seam, Call const& call);

}  // namespace lastcall::router
