#include "shim/report.hpp"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "shim/json.hpp"
#include "shim/log.hpp"
#include "shim/signal_names.hpp"

namespace lastcall::shim {
namespace {

constexpr std::size_t kLargestMessage = 4096;  // Kubernetes reads no more than this
constexpr std::string_view kReportBegins = "{\"cause\":";

/// Appends the last whole lines that the engine itself wrote to the file, without any reports.
void append_lines_of_others(int fd, Text& message) {
  off_t const size = lseek(fd, 0, SEEK_END);
  off_t const most = static_cast<off_t>(kLargestMessage);
  off_t const from = size > most ? size - most : 0;
  char buffer[kLargestMessage + 1];
  ssize_t const count = size > 0 ? pread(fd, buffer, kLargestMessage, from) : 0;
  if (count <= 0) {
    return;
  }
  std::size_t length = static_cast<std::size_t>(count);
  if (buffer[length - 1] != '\n') {
    buffer[length++] = '\n';
  }
  std::string_view const text(buffer, length);
  std::size_t const whole = from > 0 ? text.find('\n') + 1 : 0;  // starts after a line that is cut
  std::size_t first = length;                                    // the lines from here on fit
  std::size_t room = kLargestMessage - message.view().size();
  auto const is_report = [&](std::size_t at) { return text.substr(at).starts_with(kReportBegins); };
  while (first > whole) {
    std::size_t const before = first > 1 ? text.rfind('\n', first - 2) : std::string_view::npos;
    std::size_t const begin = before == std::string_view::npos ? 0 : before + 1;
    std::size_t const taken = is_report(begin) ? 0 : first - begin;
    if (taken > room) {
      break;
    }
    room -= taken;
    first = begin;
  }
  while (first < length) {
    std::size_t const end = text.find('\n', first) + 1;
    if (!is_report(first)) {
      message << text.substr(first, end - first);
    }
    first = end;
  }
}

std::string_view cause(OwnReport const& report) {
  if (report.stopping) {
    return report.stop_signal != 0 ? "signal" : "supervisor";
  }
  return report.engine.state == EngineFacts::State::exited ? "engine_exited" : "not_started";
}

void write_engine(json::Writer& line, EngineFacts const& engine) {
  line.open("engine");
  if (engine.state == EngineFacts::State::exited) {
    if (engine.ending.signal != 0) {
      line.number("signal", engine.ending.signal);
    } else {
      line.number("code", engine.ending.code);
    }
    line.boolean("oom", engine.oom);
  }
  line.boolean("ordered", engine.ordered).close();
}

}  // namespace

void make_own_report(Text& out, OwnReport const& report) {
  json::Writer line(out);
  line.open();
  if (report.will.empty()) {
    line.string("cause", cause(report))
        .string("mode", report.stopping ? "graceful" : "fatal")
        .string("in_flight", "unknown");
  } else {
    line.members(report.will);
  }
  if (report.stop_signal != 0) {
    TextOf<16> name;
    append_signal_name(name, report.stop_signal);
    line.string("signal", name.view());
  }
  line.number("exit_code", report.exit_code).string("supervisor", report.supervisor);
  write_engine(line, report.engine);
  line.number("orphans_reaped", report.orphans_reaped)
      .number("survivors", report.survivors)
      .close();
}

void write_report(char const* path, std::string_view line) {
  // The file is opened non-blocking, because a foreign file at that path must not delay the end of
  // the container.
  int const fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    if (errno != ENOENT) {
      LogLine() << "cannot write the termination message to " << path << ": " << error_text(errno);
    }
    return;
  }
  TextOf<kLargestMessage> message;
  message << line;
  append_lines_of_others(fd, message);
  std::string_view const text = message.view();
  bool const is_cut = ftruncate(fd, 0) == 0 || errno == EINVAL;  // a device has no length
  if (!is_cut || pwrite(fd, text.data(), text.size(), 0) < 0) {
    LogLine() << "cannot write the termination message to " << path << ": " << error_text(errno);
  }
  close(fd);
}

void HandedReport::keep(std::string_view raw_json) {
  text_.clear();
  if (json::is_string(raw_json)) {
    json::decode_string(raw_json, text_);
  } else {
    text_ << raw_json;
  }
  if (!text_.view().empty() && !text_.view().ends_with('\n')) {
    text_ << "\n";
  }
}

bool HandedReport::correct_code(int wrong, int right) {
  constexpr std::string_view kKey =
      "\"exit_code\":";  // this is never in a string, because quotes are escaped there
  TextOf<64> member;
  member << kKey << wrong;
  std::string_view const text = text_.view();
  std::size_t const at = text.find(member.view());
  std::size_t const behind = at + member.view().size();
  if (at == std::string_view::npos || behind >= text.size() ||
      (text[behind] != ',' && text[behind] != '}')) {
    return false;
  }
  TextOf<kLargestMessage> corrected;
  corrected << text.substr(0, at) << kKey << right << text.substr(behind);
  if (corrected.overflowed()) {
    return false;
  }
  text_.clear();
  text_ << corrected.view();
  return true;
}

}  // namespace lastcall::shim
