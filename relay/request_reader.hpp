// Reads the head of a request from a connection: how it is framed, where it goes, and whether it
// can be accepted.
//
// Rules:
//  1. Any split of the bytes gives the same answer, and the first fault in the order of RFC 9112
//     decides: syntax, length, target and host, expectation, size.
//  2. After a fault nothing that follows on the connection can be trusted.
//
// Views are valid as long as the bytes that were read. Pure, no thread rule.
// Source: RFC 9112, sections 2 to 6; RFC 9110, section 10.1.1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "relay/http_head.hpp"

namespace lastcall::relay {

/// Facts of a request's head that shape the exchange that it begins.
struct Asked {
  Version version = Version::http11;
  bool is_head = false;  // a HEAD: its answer has no body
  bool keeps_alive = true;
  bool is_upgrade = false;
  bool is_idempotent = false;  // because of its method
  bool expects_continue = false;
};

struct TakenHead {
  RequestHead head;
  Framing framing;
  Destination destination;
  Asked asked;
  std::size_t length = 0;  // number of bytes that were read for it
  HeadFault fault;         // why it is refused; asked.is_head shows whether a body may answer

  /// Makes it empty. The room for the fields is not cleared, which would cost too much.
  void forget() {
    head.method = head.target = {};
    head.version = Version::http11;
    head.fields.clear();
    head.connection.clear();
    framing = {};
    destination = {};
    asked = {};
    length = 0;
    fault = {};
  }
};

class RequestReader {
 public:
  enum class Found : std::uint8_t { incomplete, complete, refused };
  struct Limits {
    std::size_t head = 0;               // bytes
    std::optional<std::uint64_t> body;  // bytes
  };

  /// `bytes` is what has come, starting with the head. `taken` may have been used before.
  Found read(std::string_view bytes, Limits const& limits, TakenHead& taken);

 private:
  HeadScanner scanner_;
};

}  // namespace lastcall::relay
