// The first error that was found among the fields of one line.
//
// Rules:
//  1. Only the first error is kept; those after it may be its consequences.
//  2. An error names the field (`engine.pid` in a nested object), what was expected and what was
//     there.
//
// Pure, no thread rule. Source: docs/ipc.md, 'Fields'.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ipc/message.hpp"

namespace lastcall::ipc {

/// A closed set of words as what was expected.
std::string one_of(std::span<std::string_view const> words);
/// A peer's value, shortened so that an error line does not send a long value back.
std::string quoted(std::string_view given);

class FieldError {
 public:
  /// `place` is prefixed to names: "engine.".
  explicit FieldError(std::string_view place) : place_(place) {}

  void fail(std::string_view key, std::string_view problem);
  void missing(std::string_view key, std::string_view expected);
  void unexpected(std::string_view key, std::string_view expected, std::string_view given);
  /// Records the only error that is not `bad_field`.
  void refuse_version(std::uint64_t given);
  /// Takes over the text of a nested object's error.
  void adopt(FieldError const& nested) {
    if (!text_) {
      text_ = nested.text_;
    }
  }

  bool is_set() const { return text_.has_value(); }
  std::optional<std::string> const& text() const { return text_; }
  ErrorCode code() const { return code_; }

 private:
  std::string_view place_;
  std::optional<std::string> text_;
  ErrorCode code_{ErrorCode::bad_field};
};

}  // namespace lastcall::ipc
