// Reads the complete answer of a worker to one of the router's own questions.
//
// Thread rule: the router's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "relay/request_reader.hpp"
#include "relay/response_reader.hpp"

namespace lastcall::router {

class WholeAnswer {
 public:
  enum class State : std::uint8_t { reading, whole, broken };

  explicit WholeAnswer(std::size_t most) : most_(most) {}

  /// Reads the bytes that have arrived. Nothing is read after `whole` or `broken` was returned. A
  /// refusal is whole with its head, because nobody needs its body.
  State take(relay::ResponseReader& reader, std::span<char> bytes, relay::Asked const& asked);
  /// Called when its connection has ended; returns true if that completes the answer.
  bool ended(relay::ResponseReader& reader, bool orderly) const;

  /// 0 if there is none.
  unsigned status() const { return status_; }
  std::string const& body() const { return body_; }

 private:
  std::size_t most_;  // largest size of the body in bytes
  unsigned status_ = 0;
  std::string body_;
};

}  // namespace lastcall::router
