// A strict parser of HTTP/1.1 message heads: views into the bytes that were read, no copies.
//
// Rules:
//  1. A head that two servers could read in two ways is refused: bare CR or LF, folded lines, a
//     space before a colon, control characters, several or contradictory lengths, unusual codings.
//  2. HeadScanner finds the end of a head however its bytes arrive. It looks at each byte once, and
//     reports bytes that can no longer become a head at once.
//  3. Field order, duplicates, the case of names and the target's percent-encoding are kept.
//
// Views are valid as long as the bytes that were parsed. Pure, no thread rule.
// Source: RFC 9112 (syntax, framing), RFC 9110 (fields); the shapes of request smuggling.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "relay/connection_options.hpp"
#include "relay/inplace_vector.hpp"

namespace lastcall::relay {

struct Field {
  std::string_view name;
  std::string_view value;
};

inline constexpr std::size_t kMaxFields = 128;
/// The longest target of a request, in bytes. It is nginx's default; RFC 9110, 4.1 asks for 8000 at
/// least.
inline constexpr std::size_t kMaxTarget = 8 * 1024;
/// The longest host: the longest name that DNS knows, and a port. It is written to the engine three
/// times.
inline constexpr std::size_t kMaxHost = 255 + sizeof ":65535" - 1;

class Fields {
 public:
  /// Returns false if there is no room for another one.
  bool add(Field field) { return all_.push_back(field); }
  void clear() { all_.clear(); }
  Field const* begin() const { return all_.begin(); }
  Field const* end() const { return all_.end(); }
  /// The number of fields of that name, and the first one's value.
  std::size_t count(std::string_view name, std::string_view& first) const;
  /// Whether a comma-separated field of that name lists `word`.
  bool lists(std::string_view name, std::string_view word) const;

 private:
  InplaceVector<Field, kMaxFields> all_;
};

enum class Version : std::uint8_t { http10, http11 };

struct RequestHead {
  std::string_view method;
  std::string_view target;  // as it was received
  Version version = Version::http11;
  Fields fields;
  ConnectionOptions connection;
};

struct ResponseHead {
  Version version = Version::http11;
  unsigned status = 0;
  std::string_view reason;
  Fields fields;
  ConnectionOptions connection;
};

/// The fault of a head; status 0 means none. In a response it means 502, whatever the status.
struct HeadFault {
  unsigned status = 0;
  std::string_view what;
  explicit operator bool() const { return status != 0; }
};

class HeadScanner {
 public:
  enum class Found : std::uint8_t { incomplete, complete, bad };

  /// `bytes` begin with the head. Each call gets the bytes of the last call, and perhaps more.
  Found scan(std::string_view bytes);
  /// The length of a complete head, including its empty line.
  std::size_t length() const { return line_; }
  void reset() { line_ = seen_ = 0; }

 private:
  std::size_t line_ = 0;  // start of the incomplete line
  std::size_t seen_ = 0;  // up to here, that line has neither CR nor LF
};

/// `bytes` is a complete head, with at most one empty line before it.
HeadFault parse_request_head(std::string_view bytes, RequestHead& head);
HeadFault parse_response_head(std::string_view bytes, ResponseHead& head);

/// The length of a body.
struct Framing {
  enum class Kind : std::uint8_t { none, length, chunked, until_close };
  Kind kind = Kind::none;
  std::uint64_t length = 0;  // only for Kind::length; never 0
};

HeadFault request_framing(RequestHead const& head, Framing& framing);
/// `method` is the method of the request that it answers.
HeadFault response_framing(ResponseHead const& head, std::string_view method, Framing& framing);

/// The one valid Host (or, in an absolute target, its authority) and the target in origin form.
struct Destination {
  std::string_view host;    // empty: an HTTP/1.0 request without one
  std::string_view target;  // empty: "/"
};
HeadFault find_destination(RequestHead const& head, Destination& destination);

}  // namespace lastcall::relay
