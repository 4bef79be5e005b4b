// The answer of a registry on its way to the library, which reads heads and chunks with patterns
// that recurse and with lines that have no end: it gets a head of one short line, and the plain
// body up to its end.
//
// Rules:
//  1. Any split of the bytes gives the same. The relay's parser reads them: a head of at most
//     64 KiB and 128 lines, strict lengths and chunks; other bytes are no answer.
//  2. An answer that was cut off never looks whole.
//  3. No more is kept than came with one take().
//
// One filter an exchange. Pure, no thread rule. Source: RFC 9112; relay/response_reader.hpp.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "relay/response_reader.hpp"

namespace lastcall::discovery {

class AnswerFilter {
 public:
  /// `is_head`: it answers a HEAD.
  explicit AnswerFilter(bool is_head) : asked_{.is_head = is_head} {}

  /// The bytes that have come, which are changed; only when ready() is empty.
  void take(std::span<char> bytes);
  /// The connection has ended.
  void end();

  /// The bytes that the library may have now; drop() takes off their beginning.
  std::string_view ready() const { return std::string_view(ready_).substr(dropped_); }
  void drop(std::size_t count) { dropped_ += count; }

  bool is_whole() const { return reader_.state() == relay::ResponseState::complete; }
  bool is_malformed() const { return reader_.state() == relay::ResponseState::malformed; }
  /// Whether another request may follow on the connection.
  bool keeps_alive() const { return is_whole() && reader_.keeps_alive(); }

 private:
  relay::Asked asked_;
  relay::ResponseReader reader_;
  std::string ready_;
  std::size_t dropped_ = 0;
};

}  // namespace lastcall::discovery
