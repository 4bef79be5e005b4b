#include "shim/orders.hpp"

#include <cstring>
#include <optional>
#include <string_view>

#include <signal.h>
#include <unistd.h>

#include "shim/actions.hpp"
#include "shim/leaving.hpp"
#include "shim/log.hpp"
#include "shim/process_tree.hpp"
#include "shim/tree_rules.hpp"

namespace lastcall::shim {
namespace {

std::string_view base_name(std::string_view path) {
  std::size_t const slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// Signals that are not sent to end a process.
bool is_harmless(int signal) {
  return signal == SIGCONT || signal == SIGSTOP || signal == SIGTSTP || signal == SIGWINCH ||
         signal == SIGURG || signal == SIGCHLD;
}

/// Signals that are always sent to end a process.
bool is_always_a_stop(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGQUIT || signal == SIGKILL;
}

void obey_line(Parts& s, std::string_view line);
void obey(Parts& s, Order const& order);
void obey_welcome(Parts& s, Order const& order);
void obey_phase(Parts& s, Order const& order);
void obey_will(Parts& s, Order const& order);
void begin_stop_elsewhere(Parts& s, Instant deadline);
void obey_signal(Parts& s, Order const& order);
void receive_error(Parts& s, Order const& order);

void obey_lines(Parts& s) {
  while (std::optional<std::string_view> const line = s.link.next_line()) {
    obey_line(s, *line);
  }
  if (s.link.flooded()) {
    write_error(s.link.out(), std::nullopt, ErrorCode::too_long,
                "expected at most 64 KiB per "
                "line");
    s.link.send(s.now);
    s.link.lose(s.now);
  }
}

void send_hello(Parts& s) {
  constexpr std::size_t kLongestName = 256;
  Hello hello;
  hello.name = base_name(s.options.command[0]).substr(0, kLongestName / 2);
  hello.boot = s.boot.view();
  hello.run = s.service.exists();
  hello.engine = s.engine.facts();
  hello.stop_at = s.stop.came_at();
  hello.raw_blob = s.blob.view();
  write_hello(s.link.out(), hello);
  if (s.service.is_running()) {
    s.vigil.begin(s.now);
  }
  s.link.pass(s.engine.open_oom_counter());
  repeat_first_death(s);
}

void obey_line(Parts& s, std::string_view line) {
  s.vigil.received();
  Decoded const decoded = decode(line);
  if (decoded.problem != ErrorCode::none) {
    write_error(s.link.out(), decoded.order.seq, decoded.problem, decoded.detail);
    if (decoded.problem == ErrorCode::bad_json) {
      LogLine() << "the supervisor sent a line that is not a JSON object";
      s.link.send(s.now);
      s.link.lose(s.now);
    }
    return;
  }
  Order const& order = decoded.order;
  if (order.deadline && *order.deadline < s.began_at) {
    write_error(s.link.out(), order.seq, ErrorCode::bad_field,
                "deadline_at_ms: lies before the start of this shim");
    return;
  }
  obey(s, order);
  if (order.seq && order.op != Op::ack && order.op != Op::error) {
    write_ack(s.link.out(), *order.seq);
  }
}

void obey(Parts& s, Order const& order) {
  switch (order.op) {
    case Op::welcome:
      return obey_welcome(s, order);
    case Op::phase:
      return obey_phase(s, order);
    case Op::remember:
      s.blob.clear();
      s.blob << order.raw_blob;
      return;
    case Op::will:
      return obey_will(s, order);
    case Op::engine_start:
      return happen(s, Event::start_order);
    case Op::engine_signal:
      return obey_signal(s, order);
    case Op::exit:
      if (s.state != State::leaving) {
        s.departure.ordered(order.exit_code, order.raw_report);
      } else {
        receive_late_exit(s, order);
      }
      return happen(s, Event::exit_order);
    case Op::ack:
      return s.link.acknowledged(order.seq.value_or(0));
    case Op::error:
      return receive_error(s, order);
  }
}

void obey_welcome(Parts& s, Order const& order) {
  if (!order.supported_version) {
    if (s.link_news.is_new_refusal("version")) {
      LogLine() << "the supervisor speaks another version of the protocol, expected "
                << kProtocolVersion;
    }
    return s.link.lose(s.now);
  }
  s.clock.learn_settings(order.grace, order.reserve);
  if (order.rest_grace) {
    s.clock.learn_rest_grace(*order.rest_grace);
  }
  s.link.welcomed();
  s.link_news.welcomed();
  if (s.state == State::leaving) {
    s.departure.supervisor_came();
  }
}

/// Only a phase with a deadline is a stop; a drain that can be undone has no deadline.
void obey_phase(Parts& s, Order const& order) {
  bool const is_up = order.phase_is_up.value_or(false);
  if (!is_up && order.deadline) {
    begin_stop_elsewhere(s, *order.deadline);
  } else if (is_up && s.stop.signal_at_us() == 0) {
    happen(s, Event::stop_undone);
  }
}

void obey_will(Parts& s, Order const& order) {
  s.will.keep(order);
  if (s.state == State::leaving && !s.engine.fate().started) {
    s.departure.service_stops();
  }
  begin_stop_elsewhere(s, *order.deadline);
}

void begin_stop_elsewhere(Parts& s, Instant deadline) {
  s.clock.learn_deadline(s.now, deadline);
  s.service.hurry(s.now);
  happen(s, Event::stop_phase);
}

void obey_signal(Parts& s, Order const& order) {
  int const signal = s.options.signals.for_order(order.signal);
  bool const is_stop =
      is_always_a_stop(order.signal) || (s.clock.running() && !is_harmless(order.signal));
  if (!is_stop) {
    return order.whole_tree ? static_cast<void>(signal_tree(signal, s.service.pid()))
                            : s.engine.send(signal);
  }
  s.clock.begin(s.now);
  if (order.signal == SIGKILL && order.whole_tree) {
    return happen(s, Event::kill_order);
  }
  if (order.signal == SIGKILL) {
    s.engine.note_kill();
    s.engine.send(SIGKILL);
  }
  s.stop.ordered(signal, order.whole_tree);
  happen(s, Event::term_order);
}

void receive_error(Parts& s, Order const& order) {
  if (order.busy) {
    // The stop of another boot is not finished, so the shim counts as not connected.
    s.link.attempts().refused_as_busy();
    return s.link.lose(s.now);
  }
  std::string_view const code = order.raw_error_code.substr(0, LinkNews::kLongestRefusal);
  if (s.link.has_welcome() || s.link_news.is_new_refusal(code)) {
    LogLine() << "the supervisor at " << s.options.socket << " answers with error " << code
              << " (asked as uid " << std::int64_t{geteuid()} << ")";
  }
}

}  // namespace

void talk(Parts& s, bool is_readable) {
  if (s.link.connect_if_due(s.now)) {
    send_hello(s);
    return;
  }
  if (int const error = s.link.attempts().take_trouble(s.now); error != 0) {
    LogLine() << "cannot reach the supervisor at " << s.options.socket << " as uid "
              << std::int64_t{geteuid()} << ": " << error_text(error);
  }
  if (!is_readable) {
    return;
  }
  s.link.receive(s.now);
  obey_lines(s);
}

/// Reads what the shim's own supervisor wrote before it ended: an end after an order to exit is not
/// a crash.
void receive_last_words(Parts& s) {
  while (s.link.receive(s.now)) {
    obey_lines(s);
  }
}

}  // namespace lastcall::shim
