#include "shim/report.hpp"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "shim/json.hpp"
#include "shim/log.hpp"
#include "shim/signal_names.hpp"

namespace lastcall::shim {
namespace {

void write_message(char const* path, std::string_view text) {
  // Non-blocking: whatever somebody put at that path must not hold the container's end.
  int const fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    if (errno != ENOENT) {
      LogLine() << "cannot write the termination message to " << path << ": " << error_text(errno);
    }
    return;
  }
  if (write(fd, text.data(), text.size()) < 0) {
    LogLine() << "cannot write the termination message to " << path << ": " << error_text(errno);
  }
  close(fd);
}

std::string_view cause(OwnReport const& report) {
  if (report.stopping) {
    return report.stop_signal != 0 ? "signal" : "supervisor";
  }
  return report.engine.state == EngineFacts::State::exited ? "engine_exit" : "not_started";
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

void write_own_report(char const* path, OwnReport const& report) {
  TextOf<1024> text;
  json::Writer line(text);
  line.open().string("cause", cause(report));
  if (report.stop_signal != 0) {
    TextOf<16> name;
    append_signal_name(name, report.stop_signal);
    line.string("signal", name.view());
  }
  line.string("mode", report.stopping ? "graceful" : "fatal")
      .number("exit_code", report.exit_code)
      .string("supervisor", report.supervisor)
      .string("in_flight", "unknown");
  write_engine(line, report.engine);
  line.number("orphans_reaped", report.orphans_reaped)
      .number("survivors", report.survivors)
      .close();
  text << "\n";
  write_message(path, text.view());
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

void HandedReport::write(char const* path) const {
  write_message(path, text_.view());
}

}  // namespace lastcall::shim
