// The supervisor's log: one record per line on stderr, as JSON or as text.
//
// Rules:
//  1. It is synchronous: a record has left the process when write() returns, so the last records
//     survive even if we die. (An asynchronous log lost up to 84 % of its records at _exit.) But it
//     never waits: records that the reader has no room for are kept, the newest of them, and a
//     record with the number of dropped ones precedes the next one that fits. Only the end of the
//     log waits for its reader: for 0.7 s, or for the time that a stop has left.
//  2. Whatever a message or a field holds, a JSON record is one line of valid JSON.
//  3. A message is constant text for people and searches; variable parts are in fields.
//
// Thread rule: any thread. Source: RFC 8259; spdlog's synchronous sinks.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/instant.hpp"
#include "config/schema.hpp"
#include "telemetry/terminal.hpp"

namespace lastcall::telemetry {

using config::LogFormat;
using config::LogLevel;

/// One key of a record; its views are used only during the call.
class Field {
 public:
  enum class Kind : std::uint8_t { absent, text, number, flag, json };

  Field(std::string_view key, std::string_view text) : key_(key), text_(text), kind_(Kind::text) {}
  Field(std::string_view key, char const* text) : Field(key, std::string_view(text)) {}
  Field(std::string_view key, std::string const& text) : Field(key, std::string_view(text)) {}
  Field(std::string_view key, std::integral auto number)
      : key_(key), number_(static_cast<std::int64_t>(number)), kind_(Kind::number) {}
  Field(std::string_view key, bool flag) : key_(key), number_(flag), kind_(Kind::flag) {}
  template <typename T>
  Field(std::string_view key, std::optional<T> const& value)
      : Field(value ? Field(key, *value) : Field(key)) {}
  /// `text` is already a JSON value.
  static Field json(std::string_view key, std::string_view text) {
    Field field(key, text);
    field.kind_ = Kind::json;
    return field;
  }

  std::string_view key() const { return key_; }
  std::string_view text() const { return text_; }
  std::int64_t number() const { return number_; }
  Kind kind() const { return kind_; }

 private:
  explicit Field(std::string_view key) : key_(key) {}

  std::string_view key_;
  std::string_view text_;
  std::int64_t number_ = 0;
  Kind kind_ = Kind::absent;
};

class Log {
 public:
  using Fields = std::initializer_list<Field>;

  /// Writes to a descriptor that outlives the log. LogFormat::automatic is text on a terminal,
  /// otherwise JSON.
  Log(LogLevel level, LogFormat format, int fd);
  /// Writes to a stream that outlives the log.
  Log(LogLevel level, LogFormat format, std::ostream& out);
  ~Log();
  Log(Log const&) = delete;
  Log& operator=(Log const&) = delete;

  bool is_on(LogLevel level) const;
  /// The terminal that shows the log; its `is_there` is false if there is none or it gets JSON.
  Terminal terminal() const;
  void set_level(LogLevel level);
  void write(LogLevel level, std::string_view message, Fields fields = {});
  /// Writes waiting records; true if none waits any more.
  bool flush();
  /// At its end the log waits for its reader until `limit`; a later call replaces the limit.
  void wait_at_end_until(Instant limit);

  void debug(std::string_view message, Fields fields = {}) {
    write(LogLevel::debug, message, fields);
  }
  void info(std::string_view message, Fields fields = {}) {
    write(LogLevel::info, message, fields);
  }
  void warning(std::string_view message, Fields fields = {}) {
    write(LogLevel::warning, message, fields);
  }
  void error(std::string_view message, Fields fields = {}) {
    write(LogLevel::error, message, fields);
  }
  void critical(std::string_view message, Fields fields = {}) {
    write(LogLevel::critical, message, fields);
  }

 private:
  struct Sink;
  std::unique_ptr<Sink> sink_;
};

}  // namespace lastcall::telemetry
