// Reads one line of JSON without building a tree: the members of the outer object as views.
//
// Why by hand: the begin and end of every request pass here, a tree of maps and strings would cost
// more than all the rest of the path, and the general parser that we have does not report duplicate
// keys or integers that do not fit. A fuzz target compares the two.
//
// Rules:
//  1. The whole text is checked (RFC 8259, valid UTF-8, no lone surrogate, at most kMaxDepth
//     levels), including parts that nobody uses; the accessors below expect text that passed.
//  2. Views point into the text that was read and are valid as long as it is.
//  3. All duplicates of a key are listed, in order; a lookup takes the last.
//
// Pure, no thread rule. Source: RFC 8259, RFC 3629.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lastcall::json {

inline constexpr int kMaxDepth = 32;
inline constexpr std::size_t kAnyNumber = SIZE_MAX;

enum class Kind : std::uint8_t { null, boolean, number, string, array, object };

struct Value {
  Kind kind{Kind::null};
  bool escaped{};         // it is a string with at least one backslash
  std::string_view text;  // a string is without its quotes
};

struct Member {
  bool key_escaped{};
  std::string_view key;
  Value value;
};

struct SyntaxError {
  std::size_t at{};  // byte offset
  char const* expected{};
};

/// An inner object; its members are listed in the same pass. Without it, a text of several levels
/// would be read once for each level.
struct Inner {
  enum class Place : std::uint8_t { value, first_element };

  std::string_view key;  // of the member that holds it; of several the last counts
  Place place{};         // it is the member's value, or the first element of the array there
  std::vector<Member>* members{};
  std::span<Inner> inner{};  // further in

  // What was found. `members` is empty where there is no object.
  std::size_t elements{};  // of the array
  Kind kind{Kind::null};   // of what is at the place
};

/// Appends the members of the object that `text` is. The lists of `inner` are replaced; after an
/// error they hold what came before it. More than `most` members in one list are an error: a list
/// may take twenty times the memory of its text.
std::optional<SyntaxError> read_object(std::string_view text, std::vector<Member>& members,
                                       std::span<Inner> inner = {}, std::size_t most = kAnyNumber);
/// Appends the elements of the array that `text` is; more than `most` are an error.
std::optional<SyntaxError> read_array(std::string_view text, std::vector<Value>& elements,
                                      std::size_t most = kAnyNumber);
/// Whether `text` is one JSON value of any kind.
bool is_value(std::string_view text);

/// The value of a string, with its escapes resolved.
std::string to_string(Value const& string);
/// The same, as a view: of the text that was read if nothing is escaped, otherwise of `room`.
std::string_view unescaped(Value const& string, std::string& room);
bool is_true(Value const& boolean);
/// Absent if it is not a whole number without a sign, or is above 2^64 - 1.
std::optional<std::uint64_t> to_unsigned(Value const& number);
std::optional<double> to_double(Value const& number);

/// "a string", "null": for messages.
std::string_view describe(Kind kind);

}  // namespace lastcall::json
