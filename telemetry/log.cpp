#include "telemetry/log.hpp"

#include <array>
#include <chrono>
#include <deque>
#include <mutex>
#include <ostream>
#include <utility>

#include <poll.h>
#include <spdlog/formatter.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/ostream_sink.h>

#include "base/calendar.hpp"
#include "base/clock.hpp"
#include "base/json_writer.hpp"
#include "base/visible_text.hpp"
#include "base/words.hpp"
#include "telemetry/log_output.hpp"

namespace lastcall::telemetry {
namespace {

/// Both have the same levels in the same order.
constexpr spdlog::level::level_enum to_spdlog(LogLevel level) {
  return static_cast<spdlog::level::level_enum>(level);
}
static_assert(to_spdlog(LogLevel::trace) == spdlog::level::trace);
static_assert(to_spdlog(LogLevel::warning) == spdlog::level::warn);
static_assert(to_spdlog(LogLevel::critical) == spdlog::level::critical);

std::string_view word_of(spdlog::level::level_enum level) {
  constexpr std::array<std::string_view, 7> kWords{"TRACE", "DEBUG",    "INFO", "WARNING",
                                                   "ERROR", "CRITICAL", "OFF"};
  return kWords[static_cast<std::size_t>(level)];
}

/// Puts the time and the level before a payload that is already rendered.
class Formatter final : public spdlog::formatter {
 public:
  explicit Formatter(LogFormat format) : format_(format) {}

  void format(spdlog::details::log_msg const& record, spdlog::memory_buf_t& out) override {
    std::string const line = text_of(record);
    out.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<Formatter>(format_);
  }

 private:
  std::string text_of(spdlog::details::log_msg const& record) const {
    constexpr std::size_t kLevelWidth = 8;
    std::string const time = utc_text(record.time, Fraction::microseconds);
    std::string_view const level = word_of(record.level);
    std::string_view const payload{record.payload.data(), record.payload.size()};
    std::string line;
    switch (format_) {
      case LogFormat::automatic:
      case LogFormat::json:
        line.append(R"({"ts":")").append(time).append(R"(","level":")").append(level);
        line.append(R"(",)").append(payload).append("}\n");
        break;
      case LogFormat::text:
        line.append(time).append(" ").append(level).append(kLevelWidth - level.size() + 1, ' ');
        line.append(payload).append("\n");
        break;
    }
    return line;
  }

  LogFormat format_;
};

void append_json_value(std::string& out, Field const& field) {
  switch (field.kind()) {
    case Field::Kind::absent:
      out += "null";
      return;
    case Field::Kind::text:
      json::append_string(out, field.text());
      return;
    case Field::Kind::number:
      out += std::to_string(field.number());
      return;
    case Field::Kind::flag:
      out += field.number() != 0 ? "true" : "false";
      return;
    case Field::Kind::json:
      out += field.text();
      return;
  }
}

void render_json(std::string& out, std::string_view message, Log::Fields fields) {
  out += R"("msg":)";
  json::append_string(out, message);
  for (Field const& field : fields) {
    if (field.kind() == Field::Kind::absent) {
      continue;
    }
    out += ',';
    json::append_string(out, field.key());
    out += ':';
    append_json_value(out, field);
  }
}

bool is_plain_word(std::string_view text) {
  return !text.empty() && text.find_first_of(" \t\"\\=") == std::string_view::npos &&
         is_visible(text);
}

/// Appends a text that people read, such as a traceback, as indented lines after the record.
void append_paragraph(std::string& out, Field const& field) {
  out += "\n  ";
  out += field.key();
  out += ':';
  for (std::string_view rest = field.text(); !rest.empty();) {
    out += "\n    ";
    append_visible(out, take_part(rest, '\n'));
  }
}

void render_text(std::string& out, std::string_view message, Log::Fields fields) {
  append_visible(out, message);
  for (Field const& field : fields) {
    bool const is_text = field.kind() == Field::Kind::text;
    if (field.kind() == Field::Kind::absent ||
        (is_text && field.text().find('\n') != std::string_view::npos)) {
      continue;
    }
    out += ' ';
    out += field.key();
    out += '=';
    if (is_text && is_plain_word(field.text())) {
      out += field.text();
    } else {
      std::string value;
      append_json_value(value, field);
      append_visible(out, value);
    }
  }
  for (Field const& field : fields) {
    if (field.kind() == Field::Kind::text && field.text().find('\n') != std::string_view::npos) {
      append_paragraph(out, field);
    }
  }
}

LogFormat resolved(LogFormat format, bool is_terminal) {
  LogFormat const usual = is_terminal ? LogFormat::text : LogFormat::json;
  return format == LogFormat::automatic ? usual : format;
}

std::string render(LogFormat format, std::string_view message, Log::Fields fields) {
  std::string payload;
  switch (format) {
    case LogFormat::automatic:
    case LogFormat::json:
      render_json(payload, message, fields);
      break;
    case LogFormat::text:
      render_text(payload, message, fields);
      break;
  }
  return payload;
}

/// The most bytes that wait for a slow reader, and how long they may delay our exit if no stop
/// limits that.
constexpr std::size_t kMostWaiting = 64 * 1024;
constexpr Duration kLastWait{700};

/// Keeps the newest of the records that its reader has no room for, because the last line of a stop
/// is the report; it logs how many were dropped.
class DescriptorSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  DescriptorSink(int fd, LogFormat format) : fd_(fd), output_(fd), format_(format) {}
  ~DescriptorSink() override {
    Instant const now = monotonic_now();
    bool const is_in_stop = limit_ && now < *limit_ + kLastWait;
    Instant const until = is_in_stop ? *limit_ : now + kLastWait;
    while (!drain()) {
      Duration const left = until - monotonic_now();
      pollfd reader{fd_, POLLOUT, 0};
      if (left.count() <= 0 || poll(&reader, 1, static_cast<int>(left.count())) <= 0 ||
          reader.revents != POLLOUT) {
        return;
      }
    }
  }
  DescriptorSink(DescriptorSink const&) = delete;
  DescriptorSink& operator=(DescriptorSink const&) = delete;

  bool is_drained() {
    std::lock_guard const lock(mutex_);
    return drain();
  }
  void wait_at_end_until(Instant limit) {
    std::lock_guard const lock(mutex_);
    limit_ = limit;
  }

 protected:
  void sink_it_(spdlog::details::log_msg const& record) override {
    std::string line = text_of(record);
    if (drain() && output_.write(line)) {
      return;
    }
    waiting_bytes_ += line.size();
    waiting_.push_back(std::move(line));
    while (waiting_bytes_ > kMostWaiting) {
      waiting_bytes_ -= waiting_.front().size();
      waiting_.pop_front();
      ++dropped_;
    }
  }
  void flush_() override { drain(); }

 private:
  std::string text_of(spdlog::details::log_msg const& record) {
    spdlog::memory_buf_t line;
    formatter_->format(record, line);
    return {line.data(), line.size()};
  }

  /// True if nothing waits any more.
  bool drain() {
    if (dropped_ > 0) {
      std::string const payload = render(
          format_, "log lines were dropped because nothing read them", {{"lines", dropped_}});
      spdlog::details::log_msg const note({}, "lastcall", spdlog::level::warn,
                                          spdlog::string_view_t(payload.data(), payload.size()));
      if (!output_.write(text_of(note))) {
        return false;
      }
      dropped_ = 0;
    }
    while (!waiting_.empty() && output_.write(waiting_.front())) {
      waiting_bytes_ -= waiting_.front().size();
      waiting_.pop_front();
    }
    return waiting_.empty();
  }

  int fd_;
  LogOutput output_;
  LogFormat format_;
  std::optional<Instant> limit_;
  std::uint64_t dropped_ = 0;
  std::deque<std::string> waiting_;
  std::size_t waiting_bytes_ = 0;
};

}  // namespace

struct Log::Sink {
  Sink(LogLevel level, LogFormat chosen, spdlog::sink_ptr sink)
      : format(chosen), logger("lastcall", std::move(sink)) {
    logger.set_formatter(std::make_unique<Formatter>(chosen));
    logger.set_level(to_spdlog(level));
    logger.flush_on(spdlog::level::trace);
  }

  LogFormat format;
  int fd = -1;
  std::shared_ptr<DescriptorSink> lines;
  spdlog::logger logger;
};

Log::Log(LogLevel level, LogFormat format, int fd) {
  LogFormat const chosen = resolved(format, ::isatty(fd) == 1);
  auto lines = std::make_shared<DescriptorSink>(fd, chosen);
  sink_ = std::make_unique<Sink>(level, chosen, lines);
  sink_->fd = fd;
  sink_->lines = std::move(lines);
}
Log::Log(LogLevel level, LogFormat format, std::ostream& out)
    : sink_(std::make_unique<Sink>(level, resolved(format, false),
                                   std::make_shared<spdlog::sinks::ostream_sink_mt>(out))) {}
Log::~Log() = default;

bool Log::is_on(LogLevel level) const {
  return sink_->logger.should_log(to_spdlog(level));
}

Terminal Log::terminal() const {
  return sink_->format == LogFormat::text ? terminal_of(sink_->fd, config::process_environment())
                                          : Terminal{};
}

void Log::set_level(LogLevel level) {
  sink_->logger.set_level(to_spdlog(level));
}

void Log::write(LogLevel level, std::string_view message, Fields fields) {
  if (!is_on(level)) {
    return;
  }
  std::string const payload = render(sink_->format, message, fields);
  sink_->logger.log(to_spdlog(level), spdlog::string_view_t(payload.data(), payload.size()));
}

bool Log::flush() {
  sink_->logger.flush();
  return !sink_->lines || sink_->lines->is_drained();
}

void Log::wait_at_end_until(Instant limit) {
  if (sink_->lines) {
    sink_->lines->wait_at_end_until(limit);
  }
}

}  // namespace lastcall::telemetry
