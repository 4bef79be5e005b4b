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

}  // namespace

int follow_status(ipc::OperatorClient& client, Output output, std::ostream& out, std::ostream& err,
                  bool (*done)(std::string_view phase), int at_end) {
  if (!ask_or_complain(client, ipc::Watch{}, err)) {
    return kExitFailure;
  }
  bool const terminal = on_terminal();
  std::size_t most = 0;
  while (true) {
    auto const next = client.next(std::nullopt);
    if (std::holds_alternative<ipc::Failure>(next)) {
      return at_end;  // the supervisor went away: that is how a stop ends
    }
    auto const* const update = std::get_if<ipc::StatusUpdate>(&std::get<ipc::FromSupervisor>(next));
    if (update == nullptr) {
      continue;
    }
    print(update->status, output, terminal, most, out);
    if (done(phase_of(update->status))) {
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
