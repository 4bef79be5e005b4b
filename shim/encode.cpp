#include "shim/json.hpp"
#include "shim/messages.hpp"
#include "shim/signal_names.hpp"

namespace lastcall::shim {
namespace {

std::string_view state_word(EngineFacts::State state) {
  switch (state) {
    case EngineFacts::State::waiting:
      return "waiting";
    case EngineFacts::State::running:
      return "running";
    case EngineFacts::State::exited:
      return "exited";
  }
  return "";
}

std::string_view error_word(ErrorCode code) {
  switch (code) {
    case ErrorCode::bad_json:
      return "bad_json";
    case ErrorCode::too_long:
      return "too_long";
    case ErrorCode::unknown_op:
      return "unknown_op";
    case ErrorCode::none:
    case ErrorCode::bad_field:
      break;
  }
  return "bad_field";
}

void write_ending(json::Writer& out, Ending ending) {
  if (ending.signal != 0) {
    out.number("signal", ending.signal);
  } else {
    out.number("code", ending.code);
  }
}

void write_facts(json::Writer& out, EngineFacts const& engine) {
  out.open("engine");
  if (engine.state != EngineFacts::State::waiting) {
    out.number("pid", engine.pid);
  }
  out.string("state", state_word(engine.state));
  if (engine.state != EngineFacts::State::waiting) {
    out.number("started_at_ms", to_ms(engine.started_at));
  }
  if (engine.state == EngineFacts::State::exited) {
    out.number("exited_at_ms", to_ms(engine.exited_at));
    write_ending(out, engine.ending);
    out.boolean("oom", engine.oom);
  }
  if (engine.state != EngineFacts::State::waiting) {
    out.boolean("ordered", engine.ordered);
  }
  if (engine.alive) {
    out.number("alive", *engine.alive);
  }
  out.close();
}

}  // namespace

void write_hello(Text& out, Hello const& hello) {
  json::Writer line(out);
  line.open()
      .string("op", "hello")
      .number("version", kProtocolVersion)
      .string("role", "shim")
      .string("name", hello.name)
      .string("sdk", "lastcall-shim/" LASTCALL_VERSION)
      .string("boot", hello.boot)
      .boolean("run", hello.run);
  write_facts(line, hello.engine);
  if (hello.stop_at) {
    line.number("stop_at_ms", to_ms(*hello.stop_at));
  }
  if (!hello.raw_blob.empty()) {
    line.raw("blob", hello.raw_blob);
  }
  line.close();
  out << "\n";
}

void write_engine_started(Text& out, EngineFacts const& engine) {
  json::Writer(out)
      .open()
      .string("op", "engine.started")
      .number("pid", engine.pid)
      .number("at_ms", to_ms(engine.started_at))
      .close();
  out << "\n";
}

void write_engine_exited(Text& out, EngineFacts const& engine) {
  json::Writer line(out);
  line.open().string("op", "engine.exited");
  write_ending(line, engine.ending);
  line.boolean("oom", engine.oom)
      .boolean("ordered", engine.ordered)
      .number("at_ms", to_ms(engine.exited_at));
  if (engine.alive) {
    line.number("alive", *engine.alive);
  }
  line.close();
  out << "\n";
}

void write_engine_tree(Text& out, int alive, std::string_view raw_names) {
  json::Writer line(out);
  line.open().string("op", "engine.tree").number("alive", alive);
  if (alive > 0 && !raw_names.empty()) {
    line.raw("names", raw_names);
  }
  line.close();
  out << "\n";
}

void write_engine_died(Text& out, Death const& death) {
  json::Writer line(out);
  line.open().string("op", "engine.died").number("pid", death.pid).string("name", death.name);
  if (death.signal != 0) {
    line.number("signal", death.signal);
  }
  line.number("at_ms", to_ms(death.at));
  if (death.ordered) {
    line.boolean("ordered", true);
  }
  if (death.alive) {
    line.number("alive", *death.alive);
    if (*death.alive > 0 && !death.raw_names.empty()) {
      line.raw("names", death.raw_names);
    }
  }
  line.close();
  out << "\n";
}

void write_engine_stopped(Text& out, std::int64_t pid, std::string_view name) {
  json::Writer(out)
      .open()
      .string("op", "engine.stopped")
      .number("pid", pid)
      .string("name", name)
      .close();
  out << "\n";
}

void write_signal(Text& out, std::int64_t seq, int signal, Instant at) {
  TextOf<16> name;
  append_signal_name(name, signal);
  json::Writer(out)
      .open()
      .string("op", "signal")
      .number("seq", seq)
      .string("name", name.view())
      .number("at_ms", to_ms(at))
      .close();
  out << "\n";
}

void write_ping(Text& out, std::int64_t seq) {
  json::Writer(out).open().string("op", "ping").number("seq", seq).close();
  out << "\n";
}

void write_ack(Text& out, std::int64_t seq) {
  json::Writer(out).open().string("op", "ack").number("seq", seq).close();
  out << "\n";
}

void write_error(Text& out, std::optional<std::int64_t> seq, ErrorCode code,
                 std::string_view message) {
  json::Writer line(out);
  line.open().string("op", "error");
  if (seq) {
    line.number("seq", *seq);
  }
  line.string("code", error_word(code)).string("message", message).close();
  out << "\n";
}

}  // namespace lastcall::shim
