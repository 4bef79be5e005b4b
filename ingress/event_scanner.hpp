// Finds where server-sent events end, so that a stream can be cut between two of them.
//
// Rules:
//  1. A boundary is the begin of the stream, or after the empty line that ends an event, or after a
//     comment line where no event has begun: what keeps a connection alive is never held back.
//  2. An event counts when it had a line other than comments.
//
// Pure, no thread rule. Source: the HTML standard, 'Server-sent events', 9.2.5 (parsing).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lastcall::ingress {

class EventScanner {
 public:
  /// How many bytes of `bytes` (which follow those of the last call) come before or at the last
  /// boundary in them; 0 when none is in them.
  std::size_t scan(std::string_view bytes);
  std::uint64_t events() const { return events_; }
  /// The last byte was the end of a line, or there was none.
  bool is_at_line() const { return line_is_empty_; }

 private:
  bool end_line();

  std::uint64_t events_ = 0;
  bool line_is_empty_ = true;
  bool line_is_comment_ = false;
  bool pending_ = false;  // an event has begun
  bool after_return_ = false;
  bool boundary_at_return_ = false;
};

}  // namespace lastcall::ingress
