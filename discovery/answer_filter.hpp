// Filters a registry's answer before the HTTP library reads it. The library parses heads and chunks
// with recursive patterns and lines without a limit, so it gets only a head of one short line and
// the plain body up to its end.
//
// Rules:
//  1. The result does not depend on how the bytes are split. The relay's parser reads them: a head
//     of at most 64 KiB and 128 lines, strict lengths and chunks; other bytes are not an answer.
//  2. An answer that was cut off never looks complete.
//  3. It buffers no more than one take() brought.
//
// One filter serves one exchange. Pure, no thread rule. Source: RFC 9112;
// relay/response_reader.hpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "relay/response_reader.hpp"

namespace lastcall::discovery {

class AnswerFilter {
 public:
  /// `is_head`: the answer is to a HEAD request.
  explicit AnswerFilter(bool is_head) : asked_{.is_head = is_head} {}

  /// Takes the bytes that have arrived, and changes them; only while ready() is empty.
  void take(std::span<char> bytes);
  /// The connection has ended.
  void end();

  /// The bytes that the library may read now; drop() removes bytes from their beginning.
  std::string_view ready() const { return std::string_view(ready_).substr(dropped_); }
  void drop(std::size_t count) { dropped_ += count; }

  bool is_whole() const { return reader_.state() == relay::ResponseState::complete; }
  bool is_malformed() const { return reader_.state() == relay::ResponseState::malformed; }
  /// Whether another request may follow on the connection.
  bool keeps_alive() const { return is_whole() && reader_.keeps_alive(); }
  /// The `Retry-After` of a refusal, if it is a number of seconds; else 0.
  std::chrono::seconds retry_after() const { return retry_after_; }

 private:
  relay::Asked asked_;
  relay::ResponseReader reader_;
  std::string ready_;
  std::size_t dropped_ = 0;
  std::chrono::seconds retry_after_{0};
};

}  // namespace lastcall::discovery
