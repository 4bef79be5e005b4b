// One answer from several workers: the input is what the legs send, and the output is what the
// client gets.
//
// Theory of operation. A leg is the response of one worker. Its events are read (EventReader,
// read_chunk), recorded (Transcript) and written for the client (Voice, ClientStream). When it
// fails, next() makes the body of a request with which another worker continues where the record
// ends, and nothing from that leg is sent before the Verifier has confirmed that it continues
// there. kLegMoves lists the states and their transitions.
//
// Rules:
//  1. The client's text is always a prefix of one answer: nothing is sent twice, nothing is left
//     out, and text that cannot be proven to continue the answer is not sent.
//  2. There is at most one finish_reason and one [DONE], and neither after a failure.
//  3. An answer that its engine ends with [DONE] is whole, with a finish_reason or without. A
//     [DONE] does not count as an end after an error object or an abort, nor in a leg that has yet
//     to prove that it continues; an end before any text is accepted only the second time.
//  4. Memory is bounded by the size of the request and of the part of the answer that was sent;
//     held() returns the amount, and forget() releases it permanently.
//
// Pure, no thread rule; no function throws anything but std::bad_alloc.
// Source: docs/continuation.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "relay/moves.hpp"
#include "router/continuation/bodies.hpp"
#include "router/continuation/eligibility.hpp"
#include "router/continuation/event_reader.hpp"
#include "router/continuation/refused.hpp"
#include "router/continuation/request.hpp"
#include "router/continuation/transcript.hpp"
#include "router/continuation/verifier.hpp"
#include "router/continuation/voice.hpp"

namespace lastcall::router::continuation {

struct Asked {
  std::string_view endpoint;  // relay::EndpointName::name
  std::string_view body;      // the client's, unchanged; owned by the caller
  bool forbidden = false;     // by a header
  bool allows_penalties = false;
};

enum class Progress : std::uint8_t {
  nothing,
  more,          // `out` or the record has grown
  verified_now,  // like `more`, and the leg is now proven to continue
  done,          // the answer and its end were sent
  failed,        // the leg can no longer be used
};

struct Received {
  Progress progress = Progress::nothing;
  std::string_view reason{};  // why it failed; a word from a closed set
  bool moved = false;         // the client got something
  bool verified = false;      // the leg was proven, whatever came afterwards
  /// The status that belongs to the error with which the engine has ended the answer; 0 if none.
  std::uint16_t error_status = 0;
  unsigned tokens = 0;  // as the engine reported, otherwise the number of events with text
  /// Set if the worker is draining: it will cut the stream after this time.
  std::optional<std::uint64_t> hand_off_ms{};
};

/// The state of a leg.
enum class LegState : std::uint8_t {
  none,       // before the first leg, or between two legs
  live,       // its events go to the client
  verifying,  // nothing of it is sent to the client yet
  over,       // the answer is complete, or was given up
};
enum class LegEvent : std::uint8_t { first, again, proven, failed, complete };

inline constexpr relay::Moves<LegState, LegEvent, 4, 5> kLegMoves{{{
    // first, again, proven, failed, complete
    {LegState::live, LegState::verifying, relay::kNever, LegState::none, LegState::over},
    {LegState::live, LegState::verifying, relay::kNever, LegState::none, LegState::over},
    {LegState::live, LegState::verifying, LegState::live, LegState::none, LegState::over},
    {LegState::over, LegState::over, relay::kNever, LegState::over, LegState::over},
}}};

class Continuation {
 public:
  explicit Continuation(Asked const& asked);

  /// Empty if the answer can be continued, as far as is known; otherwise the label of the reason
  /// why not.
  std::string_view refused() const { return label(why_not(known())); }

  /// The body of the first leg, or of a leg that replaces one that sent nothing. The ids of the
  /// client's prompt are recorded here, where a lack of memory can still refuse the request.
  std::string first_body(Mode mode);
  /// A leg begins with the body from first_body(), or with the one that next() made last.
  void begin_leg(Mode mode);
  /// Handles the leg's payload; `out` receives whole events for the client.
  Received receive(std::string_view payload, std::string& out);
  /// Called when the leg's connection has ended.
  Received leg_ended(std::string& out);

  struct Leg {                             // the response of one worker, as far as it has been read
    std::unique_ptr<Verifier> verifier{};  // set for a continuing leg; most answers have none
    // There is one of these for each open stream, so the next members use the end of its last word.
    [[no_unique_address]] EventReader reader{};
    LegState state = LegState::none;
    Way way = Way::whole;
    bool holds_text = false;   // its engine may hold back the text of an id that it has reported
    bool sends_ahead = false;  // its engine may send the text before a part of a character
    bool has_our_comment = false;  // its last line was a comment that is not for the client
    /// The leg, or one before it, has ended in order before it sent any text.
    bool was_empty = false;
    Tokens kept = 0;    // tokens kept from the legs before
    Tokens tokens = 0;  // its own tokens
  };

  struct Next {
    std::string body;
    bool finished = false;  // nothing is left to send, and `out` got the end of the answer
    Way way = Way::whole;
  };
  /// After a failure, the body for a worker of that mode; absent if such a worker cannot continue.
  std::optional<Next> next(Mode mode, std::string& out);

  /// The leg that another one replaces.
  struct Parked {
    Leg leg{};
    ClientStream::Leg client{};
  };
  /// Used by held_leg.hpp: may_be_cut() returns whether ids and text are level; swap_leg() replaces
  /// the present leg.
  bool may_be_cut() const;
  Parked swap_leg(Parked other);

  std::uint64_t events() const { return voice_.client().events(); }
  /// Used by eligibility.hpp; transcript().confirm() receives the proof.
  Known known() const {
    return {request_,
            transcript_,
            voice_.held(),
            odd_,
            leg_.reader.is_inside_torn() && leg_.verifier == nullptr,  // nothing unproven is sent
            leg_.verifier != nullptr};
  }
  Transcript& transcript() { return transcript_; }
  /// The number of bytes that are held for this request, without its body.
  std::size_t held() const;
  /// Releases the record permanently. Returns false if that is impossible now, because a leg will
  /// continue from it.
  bool forget();

 private:
  Received take(Event const& event, std::string& out);
  Received take_odd(Event const& event, std::string& out);
  Received take_error(Event const& event, std::string& out);
  Received take_data(Event const& event, std::string& out);
  /// Handles [DONE]: the engine's own statement that it has sent everything, with a finish_reason
  /// or without one.
  Received take_end(Event const& event, std::string& out);
  Received take_proof(Event const& event, Chunk const& chunk, std::string& out);
  Received take_piece(Event const& event, Chunk const& chunk, std::string& out);
  void record(Chunk const& chunk);
  Received fail(std::string_view reason, std::string& out);
  Received complete(std::string& out);

  Request request_;
  Transcript transcript_;
  [[no_unique_address]] Voice voice_;
  Refused odd_ = Refused::no;  // here, because there is room behind the voice
  struct Promised {            // made by next(), for the leg that begins next
    Way way = Way::whole;
    Tokens kept = 0;
  };
  Leg leg_;  // the present leg
  Promised promised_;
};

}  // namespace lastcall::router::continuation
