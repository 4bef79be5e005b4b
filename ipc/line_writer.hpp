// Appends one line of the protocol to a buffer that may already hold lines.
//
// Rules:
//  1. Fields that are empty or absent are not written, so a line has only meaningful fields.
//  2. A field that exceeds a limit makes the whole line fail: finish() removes the line and reports
//     the failure.
//  3. The line is valid JSON without a raw newline whatever the strings hold.
//
// Pure, no thread rule. Source: docs/ipc.md; RFC 8259, section 7.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "ipc/to_supervisor.hpp"

namespace lastcall::ipc {

class LineWriter {
 public:
  LineWriter(std::string& out, std::string_view op, std::optional<std::uint64_t> seq);

  void text(std::string_view key, std::string_view value, std::size_t max = kMaxLine);
  /// A string that is always written, even if it is empty.
  void required_text(std::string_view key, std::string_view value, std::size_t max = kMaxLine);
  /// 1 to kMaxId bytes.
  void id(std::string_view key, std::string_view value);
  void ids(std::string_view key, std::span<std::string const> values);
  /// Written even if it is false.
  void boolean(std::string_view key, bool value);
  /// Written only if it is true: the default is false.
  void flag(std::string_view key, bool value);
  /// The message has respected the bounds of its numbers since it was made.
  template <std::integral Number>
  void number(std::string_view key, Number value, Bounds /*bounds*/ = {}) {
    require(std::cmp_greater_equal(value, 0));
    digits(key, static_cast<std::uint64_t>(value));
  }
  template <std::integral Number>
  void number(std::string_view key, std::optional<Number> value, Bounds bounds = {}) {
    if (value) {
      number(key, *value, bounds);
    }
  }
  void number(std::string_view key, double value);
  void duration(std::string_view key, Duration value) { number(key, value.count()); }
  void duration(std::string_view key, std::optional<Duration> value, Bounds /*bounds*/ = {}) {
    if (value) {
      duration(key, *value);
    }
  }
  void instant(std::string_view key, Instant value) { duration(key, value.time_since_epoch()); }
  void instant(std::string_view key, std::optional<Instant> value) {
    if (value) {
      instant(key, *value);
    }
  }
  template <typename T>
  void change(std::string_view key, Change<T> const& value, Bounds /*bounds*/ = {}) {
    switch (value.kind) {
      case Change<T>::Kind::keep:
        return;
      case Change<T>::Kind::clear:
        return null(key);
      case Change<T>::Kind::set:
        return number(key, value.value);
    }
  }
  template <typename Enum>
  void word(std::string_view key, Enum value) {
    required_text(key, name(value));
  }
  /// A JSON value as text; an empty one is not written.
  void raw(std::string_view key, std::string_view json);
  void begin_object(std::string_view key);
  void end_object();

  [[nodiscard]] bool finish();

 private:
  void key(std::string_view name);
  void digits(std::string_view key, std::uint64_t value);
  void null(std::string_view key);
  void require(bool condition) { ok_ = ok_ && condition; }

  std::string& out_;
  std::size_t start_;
  bool ok_{true};
};

}  // namespace lastcall::ipc
