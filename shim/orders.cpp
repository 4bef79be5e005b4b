// The conversation with the supervisor. Orders become events; what they lead to is in the table.
#include <cstring>

#include <signal.h>
#include <unistd.h>

#include "shim/log.hpp"
#include "shim/process_tree.hpp"
#include "shim/shim.hpp"

namespace lastcall::shim {
namespace {

std::string_view base_name(std::string_view path) {
  std::size_t const slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// Signals that nobody sends to end a process.
bool is_harmless(int signal) {
  return signal == SIGCONT || signal == SIGSTOP || signal == SIGTSTP || signal == SIGWINCH ||
         signal == SIGURG || signal == SIGCHLD;
}

/// Signals that nobody sends for another purpose.
bool is_always_a_stop(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGQUIT || signal == SIGKILL;
}

}  // namespace

void Shim::talk() {
  if (link_.connect_if_due(now_)) {
    say_hello();
    return;
  }
  if (int const error = link_.take_trouble(now_); error != 0) {
    LogLine() << "cannot reach the supervisor at " << options_.socket << " as uid "
              << std::int64_t{geteuid()} << ": " << error_text(error);
  }
  if (!link_readable_) {
    return;
  }
  link_.receive(now_);
  obey_lines();
}

/// What a supervisor of our own wrote before it ended: an order to exit is no crash.
void Shim::hear_last_words() {
  while (link_.receive(now_)) {
    obey_lines();
  }
}

void Shim::obey_lines() {
  while (std::optional<std::string_view> const line = link_.next_line()) {
    obey_line(*line);
  }
  if (link_.flooded()) {
    write_error(link_.out(), std::nullopt, ErrorCode::too_long, "expected at most 64 KiB a line");
    link_.send(now_);
    link_.lose(now_);
  }
}

void Shim::say_hello() {
  constexpr std::size_t kLongestName = 256;
  Hello hello;
  hello.name = base_name(options_.command[0]).substr(0, kLongestName / 2);
  hello.boot = boot_.view();
  hello.run = service_.exists();
  hello.engine = engine_.facts();
  if (stop_signal_ != 0) {
    hello.stop_at = stop_signal_at_;
  }
  hello.raw_blob = blob_.view();
  write_hello(link_.out(), hello);
  if (service_.is_running()) {
    vigil_.begin(now_);
  }
  link_.pass(engine_.open_oom_counter());
  repeat_first_death();
}

void Shim::obey_line(std::string_view line) {
  vigil_.heard();
  Decoded const decoded = decode(line);
  if (decoded.problem != ErrorCode::none) {
    write_error(link_.out(), decoded.order.seq, decoded.problem, decoded.detail);
    if (decoded.problem == ErrorCode::bad_json) {
      LogLine() << "the supervisor sent a line that is no JSON object";
      link_.send(now_);
      link_.lose(now_);
    }
    return;
  }
  Order const& order = decoded.order;
  if (order.deadline && *order.deadline < began_at_) {
    write_error(link_.out(), order.seq, ErrorCode::bad_field,
                "deadline_at_ms: lies before this shim began");
    return;
  }
  obey(order);
  if (order.seq && order.op != Op::ack && order.op != Op::error) {
    write_ack(link_.out(), *order.seq);
  }
}

void Shim::obey(Order const& order) {
  switch (order.op) {
    case Op::welcome:
      return obey_welcome(order);
    case Op::phase:
      return obey_phase(order);
    case Op::remember:
      blob_.clear();
      blob_ << order.raw_blob;
      return;
    case Op::will:
      return obey_will(order);
    case Op::engine_start:
      return happen(Event::start_order);
    case Op::engine_signal:
      return obey_signal(order);
    case Op::exit:
      if (state_ != State::leaving) {
        exit_ordered_ = true;
        exit_code_ = order.exit_code;
        handed_report_.keep(order.raw_report);
      }
      return happen(Event::exit_order);
    case Op::ack:
      return link_.acknowledged(order.seq.value_or(0));
    case Op::error:
      return hear_error(order);
  }
}

void Shim::obey_welcome(Order const& order) {
  if (!order.supported_version) {
    if (is_new_refusal("version")) {
      LogLine() << "the supervisor speaks another version of the protocol, expected "
                << kProtocolVersion;
    }
    return link_.lose(now_);
  }
  clock_.learn_settings(order.grace, order.reserve);
  if (order.rest_grace) {
    clock_.learn_rest_grace(*order.rest_grace, order.main_ends_workers);
  }
  link_.welcomed();
  refusal_.clear();
}

/// Only a phase with a deadline is a stop: a drain that can be undone has none.
void Shim::obey_phase(Order const& order) {
  bool const is_up = order.phase_is_up.value_or(false);
  if (!is_up && order.deadline) {
    begin_stop_elsewhere(*order.deadline);
  } else if (is_up && stop_signal_ == 0) {
    happen(Event::stop_undone);
  }
}

void Shim::obey_will(Order const& order) {
  will_.keep(order);
  begin_stop_elsewhere(*order.deadline);
}

void Shim::begin_stop_elsewhere(Instant deadline) {
  clock_.learn_deadline(now_, deadline);
  service_.hurry(now_);
  happen(Event::stop_phase);
}

void Shim::obey_signal(Order const& order) {
  int const signal = options_.signals.for_order(order.signal);
  bool const is_stop =
      is_always_a_stop(order.signal) || (clock_.running() && !is_harmless(order.signal));
  if (!is_stop) {
    return order.whole_tree ? static_cast<void>(signal_tree(signal, service_.pid()))
                            : engine_.send(signal);
  }
  clock_.begin(now_);
  if (order.signal == SIGKILL && order.whole_tree) {
    return happen(Event::kill_order);
  }
  if (order.signal == SIGKILL) {
    engine_.note_kill();
    engine_.send(SIGKILL);
  }
  ordered_signal_ = signal;
  ordered_tree_ = order.whole_tree;
  happen(Event::term_order);
}

void Shim::hear_error(Order const& order) {
  if (order.busy) {
    // Another boot's stop is not finished; we are as good as not connected.
    link_.refused_as_busy();
    return link_.lose(now_);
  }
  std::string_view const code = order.raw_error_code.substr(0, kLongestRefusal);
  if (link_.has_welcome() || is_new_refusal(code)) {
    LogLine() << "the supervisor at " << options_.socket << " answers with error " << code
              << ", asked as uid " << std::int64_t{geteuid()};
  }
}

/// Who refuses us does so at each attempt, and we try for as long as we run.
bool Shim::is_new_refusal(std::string_view refusal) {
  if (refusal == refusal_.view()) {
    return false;
  }
  refusal_.clear();
  refusal_ << refusal;
  return true;
}

}  // namespace lastcall::shim
