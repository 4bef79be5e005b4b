#include "supervisor/cli/status.hpp"

#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <poll.h>
#include <unistd.h>

#include "base/json_member.hpp"
#include "supervisor/cli/app.hpp"
#include "supervisor/cli/json_view.hpp"
#include "supervisor/cli/status_view.hpp"
#include "telemetry/terminal.hpp"

namespace lastcall::cli {
namespace {

constexpr lifecycle::Duration kScreenPause{500};
constexpr char const* kOvertaken = "a stop began before the drain had ended";

ViewOptions view_on(telemetry::Terminal const& terminal) {
  return {.color = terminal.has_color, .columns = terminal.columns};
}

/// From this phase on the engine has been ordered to end, and the supervisor ends, too.
bool is_at_the_end_of_a_stop(std::string_view phase) {
  return phase == "cleaning_up" || phase == "exited";
}

/// Whether no drain and no stop is in progress.
bool is_up(std::string_view phase) {
  return phase == "starting" || phase == "serving";
}

/// Overwrites the screen line by line, so that it does not flicker.
std::string as_screen(std::string const& text) {
  std::string screen = "\033[H";
  for (char const c : text) {
    screen += c == '\n' ? "\033[K\n" : std::string(1, c);
  }
  return screen + "\033[K\n\033[J";
}

/// The state of the output so far.
struct Printed {
  std::size_t most = 0;  // the most requests that were in flight
  std::string line;      // the last one, if it was not a screen
};

/// A line that says nothing new is not repeated, because statuses also come when only times have
/// changed. Then nothing is written, so a reader that has gone is looked for.
void print_line(std::string line, Printed& printed, std::ostream& out) {
  if (line != printed.line) {
    out << line << '\n';
    printed.line = std::move(line);
    return;
  }
  pollfd output{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  if (::poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0) {
    out.setstate(std::ios::failbit);
  }
}

void print(std::string const& status, Output output, telemetry::Terminal const& terminal,
           Printed& printed, std::ostream& out) {
  switch (output) {
    case Output::json:
      out << status << '\n';
      break;
    case Output::text: {
      std::string const bar = drain_bar(status, printed.most);
      if (!terminal.is_screen) {
        print_line(bar, printed, out);
      } else {
        std::string const text = status_text(status, view_on(terminal));
        out << as_screen(is_up(phase_of(status)) ? text : text + '\n' + bar);
      }
      break;
    }
  }
  out.flush();
}

int complain(std::string const& what, std::string const& phase, std::ostream& err) {
  err << "lastcall: " << what << ": the phase is " << phase << '\n';
  return kExitFailure;
}

/// Statuses are sent at intervals, so a short phase may never be seen. Therefore the end of a stop
/// is also recognised by the phases that follow it.
std::optional<int> end_in(std::string const& phase, std::string const& before, Follow follow,
                          std::ostream& err) {
  switch (follow) {
    case Follow::everything:
      return std::nullopt;
    case Follow::stop:
      return phase == "exited" || is_up(phase) ? std::optional(kExitSuccess) : std::nullopt;
    case Follow::drain:
      if (!is_up(phase)) {
        return phase == "drained" ? std::optional(kExitSuccess) : std::nullopt;
      }
      return complain(is_at_the_end_of_a_stop(before) ? kOvertaken : "the drain was undone", phase,
                      err);
  }
  return std::nullopt;
}

int lost_in(std::string const& phase, ipc::Failure const& failure, Follow follow,
            std::ostream& err) {
  if (is_at_the_end_of_a_stop(phase)) {
    return follow == Follow::drain ? complain(kOvertaken, phase, err) : kExitSuccess;
  }
  err << "lastcall: lost the supervisor" << (phase.empty() ? "" : " in phase " + phase) << ": "
      << failure.text << "; the engine may still run\n";
  return kExitFailure;
}

}  // namespace

std::string phase_of(std::string_view answer) {
  return member_text(json::parsed<JsonValue>(answer), "phase");
}

int follow_status(ipc::OperatorClient& client, Output output, std::ostream& out, std::ostream& err,
                  Follow follow, std::string phase) {
  bool has_begun = !is_up(phase);
  auto const terminal = telemetry::terminal_of(STDOUT_FILENO, config::process_environment());
  ipc::Watch watch;
  if (output == Output::text && terminal.is_screen) {
    watch.interval = kScreenPause;  // the time that is left changes without an event
  }
  if (!ask_or_complain(client, watch, err)) {
    return kExitFailure;
  }
  Printed printed;
  while (true) {
    auto const next = client.next(std::nullopt);
    if (auto const* const failure = std::get_if<ipc::Failure>(&next)) {
      return lost_in(phase, *failure, follow, err);
    }
    auto const* const update = std::get_if<ipc::StatusUpdate>(&std::get<ipc::FromSupervisor>(next));
    if (update == nullptr) {
      continue;
    }
    print(update->status, output, terminal, printed, out);
    if (!out && follow == Follow::everything) {  // otherwise the exit code is an answer, too
      return kExitFailure;
    }
    std::string const before = std::exchange(phase, phase_of(update->status));
    has_begun = has_begun || !is_up(phase);
    if (has_begun) {  // otherwise the supervisor holds the order until it knows its engine
      if (std::optional<int> const code = end_in(phase, before, follow, err)) {
        return *code;
      }
    }
  }
}

int run_status(StatusOptions const& options, config::Environment const& environment,
               std::ostream& out, std::ostream& err) {
  auto [client, exit_code] = connect_or_complain(options.common, environment, err);
  if (!client) {
    return exit_code;
  }
  if (options.watch) {
    return follow_status(*client, options.common.output, out, err, Follow::everything);
  }
  auto const status = ask_or_complain(*client, ipc::StatusQuery{}, err);
  if (!status) {
    return kExitFailure;
  }
  if (options.common.output == Output::json) {
    out << *status << '\n';
  } else {
    out << status_text(*status, view_on(telemetry::terminal_of(STDOUT_FILENO, environment)));
  }
  return kExitSuccess;
}

}  // namespace lastcall::cli
