// One answer from several workers: its input is what the legs send, and its output what the client
// gets.
//
// Theory of operation. A leg is the response of one worker. Its events are read (EventReader,
// read_chunk), recorded (Transcript) and written for the client (Voice, ClientStream). When it
// fails, next() makes the body of a request with which another worker continues where the record
// ends, and nothing of that leg is sent before the Verifier has confirmed that it does. States and
// moves: kLegMoves.
//
// Rules:
//  1. The client's text is always a prefix of one answer: nothing is sent twice, nothing is left
//     out, and what cannot be proven is not sent.
//  2. At most one finish_reason and one [DONE], and none after a failure.
//  3. An answer that its engine ends with [DONE] is whole, with a finish_reason or without. It is
//     no end after an error object or an abort, nor in a leg that has yet to prove that it
//     continues; an end before any word is believed the second time.
//  4. Memory is bounded by the request and what was sent of its answer; held() returns the amount,
//     and forget() releases it permanently.
//
// Pure, no thread rule; nothing is thrown. Source: docs/continuation.md.
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
  std::string_view body;      // as the client sent it; owned by the caller
  bool forbidden = false;     // by a header
  bool allows_penalties = false;
};

enum class Progress : std::uint8_t {
  nothing,
  more,          // `out` or the record got something
  verified_now,  // and this leg is proven to continue, for the first time
  done,          // the answer and its end were sent
  failed,        // the leg is useless from now on
};

struct Received {
  Progress progress = Progress::nothing;
  std::string_view reason{};  // the reason of a failure: a closed set of words
  bool moved = false;         // the client got something
  bool verified = false;      // the leg was proven, whatever came after that
  unsigned tokens = 0;        // as reported, or else events with text
  /// The worker drains, and will cut the stream after this time.
  std::optional<std::uint64_t> hand_off_ms{};
};

/// The state of a leg.
enum class LegState : std::uint8_t {
  none,       // before the first, or between two
  live,       // its events go to the client
  verifying,  // nothing of it goes out
  over,       // the answer is complete, or given up
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

  /// Empty if it can be continued, as far as is known; else the label of the reason.
  std::string_view refused() const { return label(why_not(known())); }

  /// The body of a first leg, or of one in place of a leg that sent nothing.
  std::string first_body(Mode mode);
  /// A leg begins: with first_body(), or with what next() made last.
  void begin_leg(Mode mode);
  /// Handles payload of the leg; `out` gets whole events for the client.
  Received receive(std::string_view payload, std::string& out);
  /// Its connection has ended.
  Received leg_ended(std::string& out);

  struct Leg {  // the response of one worker, as far as it has been read
    EventReader reader{};
    std::unique_ptr<Verifier> verifier{};  // of a continuing leg; most answers have none
    Tokens kept = 0;                       // of the legs before
    Tokens tokens = 0;                     // of its own
    LegState state = LegState::none;
    Way way = Way::whole;
    bool holds_text = false;  // its engine may: of an id that it has reported
    bool was_empty = false;   // it, or one before, has ended in order before any word
  };

  struct Next {
    std::string body;
    bool finished = false;  // nothing is left to be sent: `out` got the end of the answer
    Way way = Way::whole;
  };
  /// After a failure, the body for a worker of that mode; absent if such a worker cannot continue.
  std::optional<Next> next(Mode mode, std::string& out);

  /// The leg that another one replaces.
  struct Parked {
    Leg leg{};
    ClientStream::Leg client{};
  };
  /// For hand_off.hpp: whether ids and text are level, and the exchange of the present leg.
  bool may_be_cut() const;
  Parked swap_leg(Parked other);

  std::uint64_t events() const { return voice_.client().events(); }
  /// For eligibility.hpp; transcript().confirm() receives the proof.
  Known known() const { return {request_, transcript_, voice_.held(), odd_}; }
  Transcript& transcript() { return transcript_; }
  /// Bytes that are held for this request, without its body.
  std::size_t held() const;
  /// Releases the record permanently. Returns false if that is impossible now, because a leg will
  /// continue from it.
  bool forget();

 private:
  Received take(Event const& event, std::string& out);
  Received take_odd(Event const& event, std::string& out);
  Received take_error(Event const& event, std::string& out);
  Received take_data(Event const& event, std::string& out);
  /// [DONE]: the engine's own statement that it has sent everything, with a finish or without.
  Received take_end(Event const& event, std::string& out);
  Received take_proof(Event const& event, Chunk const& chunk, std::string& out);
  Received take_piece(Event const& event, Chunk const& chunk, std::string& out);
  void record(Chunk const& chunk);
  Received fail(std::string_view reason, std::string& out);
  Received complete(std::string& out);

  Request request_;
  Transcript transcript_;
  Voice voice_;
  struct Promised {  // by next(), for the leg that begins then
    Way way = Way::whole;
    Tokens kept = 0;
  };
  Leg leg_;  // the present one
  Promised promised_;
  Refused odd_ = Refused::no;
};

}  // namespace lastcall::router::continuation
