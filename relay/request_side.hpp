// The body of one request, from its client to the engine: framing, limits, pace, and a look at
// `model` and `stream`.
//
// Rules:
//  1. The payload is the same however the bytes are split; a chunked body is chunked again, with
//     one chunk per read, and a body with a length keeps that length.
//  2. Bytes after the body are left alone: they belong to the next request.
//  3. A body that is malformed, too large or too slow is refused, and nothing of it is read again.
//  4. After an upgrade there is no framing: all bytes are passed through, until the client ends the
//     tunnel.
//
// Pure, no thread rule. Source: RFC 9112, sections 6 and 7; docs/ingress.md, 'What counts'.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "relay/body_look.hpp"
#include "relay/chunk_decoder.hpp"
#include "relay/http_head.hpp"
#include "relay/moves.hpp"
#include "relay/pace.hpp"
#include "relay/request_reader.hpp"
#include "relay/to_engine.hpp"

namespace lastcall::relay {

enum class RequestState : std::uint8_t {
  body,  // more of it will come
  complete,
  tunnel,        // upgraded
  tunnel_ended,  // and the client has ended the tunnel
  refused,
};
enum class RequestEvent : std::uint8_t { last_byte, fault, switched, client_end };

inline constexpr Moves<RequestState, RequestEvent, 5, 4> kRequestMoves{{{
    // last_byte, fault, switched, client_end: a client that ends its body ends the whole exchange
    {RequestState::complete, RequestState::refused, kNever, kNever},  // body
    {kNever, kNever, RequestState::tunnel, kNever},                   // complete
    {kNever, kNever, kNever, RequestState::tunnel_ended},             // tunnel
    {kNever, kNever, kNever, kNever},                                 // tunnel_ended
    {kNever, kNever, kNever, kNever},                                 // refused
}}};

class RequestSide {
 public:
  using Time = Pace::Time;
  struct Limits {
    std::optional<std::uint64_t> body;  // bytes
    std::optional<Time> silence;
  };
  struct Taken {
    std::size_t used = 0;
    HeadFault fault;  // refused; no fault: status 0
  };

  RequestSide(Framing const& framing, Asked const& asked);

  RequestState state() const { return state_; }
  /// Whether the client has nothing more to send in this request.
  bool is_done() const {
    return state_ == RequestState::complete || state_ == RequestState::tunnel_ended;
  }
  Framing const& framing() const { return framing_; }

  /// Valid in `body` and `tunnel`. Appends the bytes that are passed on to to_engine().
  Taken take(std::span<char> bytes, Time now, Limits const& limits);
  void switch_protocols() { kRequestMoves.apply(state_, RequestEvent::switched); }
  void client_ended() { kRequestMoves.apply(state_, RequestEvent::client_end); }

  /// Looks for `model` and `stream` in the bytes that are read, until settle().
  void look();
  bool is_looking() const { return look_ != nullptr; }
  /// Whether enough of the body has come, so that it need not be held any longer for the look.
  bool has_enough() const;
  struct Wanted {
    std::string model;           // empty if it names none
    std::optional<bool> stream;  // absent if the body does not state it
  };
  Wanted settle();

  /// await(): the wait for the next part begins; pause(): nothing is read for now.
  void await(Time now) { pace_.await(now); }
  void pause() { pace_.pause(); }

  ToEngine& to_engine() { return to_engine_; }
  ToEngine const& to_engine() const { return to_engine_; }

 private:
  void pass(std::string_view payload);
  Taken take_chunks(std::span<char> bytes, Limits const& limits);
  Taken refuse(unsigned status, std::string_view what);

  Framing const framing_;
  RequestState state_;
  ChunkDecoder chunks_;
  std::uint64_t size_ = 0;  // of the payload that has come
  Pace pace_;
  std::unique_ptr<BodyLook> look_;
  ToEngine to_engine_;
};

}  // namespace lastcall::relay
