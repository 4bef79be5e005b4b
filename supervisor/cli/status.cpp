#include "supervisor/cli/status.hpp"

#include <ostream>
#include <string>
#include <variant>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "supervisor/cli/app.hpp"
#include "supervisor/cli/status_view.hpp"

namespace lastcall::cli {
namespace {

bool on_terminal() {
  return isatty(STDOUT_FILENO) == 1;
}

std::string phase_of(std::string const& status) {
  auto const parsed = nlohmann::ordered_json::parse(status, nullptr, false);
  return parsed.is_object() ? parsed.value("phase", std::string()) : std::string();
}

void print(std::string const& status, Output output, bool terminal, std::size_t& most,
           std::ostream& out) {
  switch (output) {
    case Output::json:
      out << status << '\n';
      break;
    case Output::text:
      if (terminal) {
        out << "\033[H\033[2J" << status_text(status, {.color = true}) << '\n'
            << drain_bar(status, most) << '\n';
      } else {
        out << drain_bar(status, most) << '\n';
      }
      break;
  }
  out.flush();
}

bool never(std::string_view) {
  return false;
}

/// From here on the engine was told to go, and so is the supervisor.
bool is_at_the_end_of_a_stop(std::string_view phase) {
  return phase == "cleaning_up" || phase == "exited";
}

int lost_in(std::string const& phase, ipc::Failure const& failure, int after_stop,
            std::ostream& err) {
  if (is_at_the_end_of_a_stop(phase)) {
    return after_stop;
  }
  err << "lastcall: lost the supervisor" << (phase.empty() ? "" : " in phase " + phase) << ": "
      << failure.text << "; the engine may still run\n";
  return kExitFailure;
}

}  // namespace

int follow_status(ipc::OperatorClient& client, Output output, std::ostream& out, std::ostream& err,
                  bool (*done)(std::string_view phase), int after_stop) {
  if (!ask_or_complain(client, ipc::Watch{}, err)) {
    return kExitFailure;
  }
  bool const terminal = on_terminal();
  std::size_t most = 0;
  std::string phase;
  while (true) {
    auto const next = client.next(std::nullopt);
    if (auto const* const failure = std::get_if<ipc::Failure>(&next)) {
      return lost_in(phase, *failure, after_stop, err);
    }
    auto const* const update = std::get_if<ipc::StatusUpdate>(&std::get<ipc::FromSupervisor>(next));
    if (update == nullptr) {
      continue;
    }
    print(update->status, output, terminal, most, out);
    phase = phase_of(update->status);
    if (done(phase)) {
      return kExitSuccess;
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
    return follow_status(*client, options.common.output, out, err, never, kExitSuccess);
  }
  auto const status = ask_or_complain(*client, ipc::StatusQuery{}, err);
  if (!status) {
    return kExitFailure;
  }
  switch (options.common.output) {
    case Output::json:
      out << *status << '\n';
      break;
    case Output::text:
      out << status_text(*status, {.color = on_terminal()});
      break;
  }
  return kExitSuccess;
}

}  // namespace lastcall::cli
