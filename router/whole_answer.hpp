// Reads the complete answer of a worker to a question of the router's own.
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

  /// Reads what has come of it. After `whole` and `broken` nothing is read.
  State take(relay::ResponseReader& reader, std::span<char> bytes, relay::Asked const& asked);
  /// Its connection has ended; returns true if that is the end of the answer.
  bool ended(relay::ResponseReader& reader, bool orderly) const;

  /// 0 if there is none.
  unsigned status() const { return status_; }
  std::string const& body() const { return body_; }

 private:
  std::size_t most_;  // bytes of the body
  unsigned status_ = 0;
  std::string body_;
};

}  // namespace lastcall::router
