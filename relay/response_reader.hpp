// Reads the response of one engine to one request from its connection: heads, then payload, then
// its end.
//
// Rules:
//  1. Any split of the bytes gives the same heads and the same payload.
//  2. Bytes that are not a response, or could be read in two ways, are malformed; nothing that
//     follows on that connection is read. So is a head of more than kMaxResponseHead bytes, and an
//     upgrade that was not requested.
//  3. Bytes after the end of a response belong to no request: the connection is not used again.
//
// There is one reader for each connection and request: a request that is sent again gets another
// one. Pure, no thread rule. Source: RFC 9112, sections 4, 6 and 9.3; RFC 9110, sections 7.8 and
// 15.2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "relay/chunk_decoder.hpp"
#include "relay/http_head.hpp"
#include "relay/moves.hpp"
#include "relay/request_reader.hpp"

namespace lastcall::relay {

/// A longer head is malformed.
inline constexpr std::size_t kMaxResponseHead = 64 * 1024;

enum class ResponseState : std::uint8_t {
  head,  // no head yet, or only interim ones
  body,
  tunnel,  // upgraded: everything is passed on
  complete,
  malformed,
};
enum class ResponseEvent : std::uint8_t { interim, switched, body, no_body, end, fault };

inline constexpr Moves<ResponseState, ResponseEvent, 5, 6> kResponseMoves{{{
    // interim, switched, body, no_body, end, fault
    {ResponseState::head, ResponseState::tunnel, ResponseState::body, ResponseState::complete,
     kNever, ResponseState::malformed},                                                   // head
    {kNever, kNever, kNever, kNever, ResponseState::complete, ResponseState::malformed},  // body
    {kNever, kNever, kNever, kNever, ResponseState::complete, kNever},                    // tunnel
    {kNever, kNever, kNever, kNever, kNever, kNever},  // complete
    {kNever, kNever, kNever, kNever, kNever, kNever},  // malformed
}}};

/// Valid as long as the bytes that it was read from, until the next call.
struct ReadHead {
  ResponseHead head;
  std::string_view text;    // the head and all bytes that have come after it
  std::size_t length = 0;   // length of the head in `text`
  std::size_t earlier = 0;  // length of the part of `text` that came in earlier reads
};

class ResponseReader {
 public:
  ResponseState state() const { return state_; }
  /// The framing of the body; once the body has begun, its length is what remains.
  Framing const& framing() const { return framing_; }
  /// Whether no byte of the response has come.
  bool has_nothing() const {
    return state_ == ResponseState::head && (part_ == nullptr || part_->text.empty());
  }
  std::size_t capacity() const { return part_ ? sizeof *part_ + part_->text.capacity() : 0; }

  /// Valid in ResponseState::head. Returns true if there is a head, which read_on() removes;
  /// returns false if more must come or if the bytes are malformed.
  bool read_head(std::span<char> bytes, Asked const& asked, ReadHead& read);
  /// Removes that head, and returns the rest of `bytes`, which are those of read_head(). `read` is
  /// not valid afterwards.
  std::span<char> read_on(std::span<char> bytes, ReadHead const& read);
  /// That head will be read again, from ReadHead::text.
  void put_back();

  /// Valid in ResponseState::body. Returns payload, at the front of what it removes from `bytes`.
  std::string_view read_body(std::span<char>& bytes);
  /// Ends a body or a tunnel that ends with its connection.
  void end() { kResponseMoves.apply(state_, ResponseEvent::end); }

  /// Whether the engine keeps its connection open, as its head states, and has sent nothing behind
  /// its response.
  bool keeps_alive() const { return keeps_alive_; }
  /// More came than belongs to this response, so the connection is not used again.
  void spoil() { keeps_alive_ = false; }

 private:
  ResponseEvent kind_of(ResponseHead const& head) const;
  /// `rest`: the bytes that were not read.
  void spoil_if_more(std::span<char> rest);
  bool fail();

  struct Part {  // the start of a head that comes in pieces
    std::string text;
    HeadScanner scanner;
  };

  std::unique_ptr<Part> part_;  // most heads come at once
  Framing framing_;
  // An open stream has one of these, so the next members use the end of its last word.
  [[no_unique_address]] ChunkDecoder chunks_;
  ResponseState state_ = ResponseState::head;
  bool keeps_alive_ = false;
};

}  // namespace lastcall::relay
