// The body of a request. It is read completely before the request is sent, because it determines
// the worker and may have to be sent again.
//
// Rules:
//  1. The result does not depend on how the bytes are split; bytes after the body are left alone.
//  2. A body that is malformed, too large or too slow is refused, and nothing more of it is read.
//     So is one for which the process may have no memory: bodies are the largest that it asks for.
//
// Pure, no thread rule. Source: RFC 9112, sections 6 and 7.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/compact_array.hpp"
#include "relay/chunk_decoder.hpp"
#include "relay/http_head.hpp"
#include "relay/pace.hpp"

namespace lastcall::router {

class RequestBody {
 public:
  using Time = relay::Pace::Time;
  struct Limits {
    std::uint64_t size = 0;  // bytes
    std::optional<Time> silence;
  };
  struct Taken {
    std::size_t used = 0;
    relay::HeadFault fault;  // why the body is refused; its status is 0 if there is no fault
  };
  /// The status of the fault that there is no memory for the body.
  static constexpr unsigned kNoMemory = 503;

  explicit RequestBody(relay::Framing const& framing);

  bool is_whole() const { return state_ == State::whole; }
  bool takes_more() const { return state_ == State::reads; }
  Taken take(std::span<char> bytes, Time now, Limits const& limits);
  void await(Time now) {
    if (reading_) {
      reading_->pace.await(now);
    }
  }
  /// The part of the body that has arrived.
  std::string_view text() const { return reading_ ? reading_->text : text_.view(); }
  std::size_t capacity() const { return reading_ ? reading_->text.capacity() : text_.capacity(); }

 private:
  enum class State : std::uint8_t { reads, whole, refused };

  struct Reading {  // needed until the body is complete
    relay::Framing::Kind kind = relay::Framing::Kind::none;
    std::uint64_t left = 0;  // bytes missing, if the length is known
    relay::ChunkDecoder chunks{};
    relay::Pace pace{};
    std::string text{};  // the part that has arrived
  };

  Taken read(std::span<char> bytes, Time now, Limits const& limits);
  Taken refuse(unsigned status, std::string_view what);

  std::unique_ptr<Reading> reading_;
  CompactText text_;  // the complete body
  State state_;
};

}  // namespace lastcall::router
