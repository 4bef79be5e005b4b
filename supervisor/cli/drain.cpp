#include <ostream>
#include <string_view>

#include "base/json_member.hpp"
#include "config/text.hpp"
#include "supervisor/cli/app.hpp"
#include "supervisor/cli/json_view.hpp"
#include "supervisor/cli/status.hpp"
#include "supervisor/cli/subcommands.hpp"

namespace lastcall::cli {
namespace {

void print_answer(std::string const& answer, Output output, char const* changed,
                  char const* unchanged, std::ostream& out) {
  bool const did = member_flag(json::parsed<JsonValue>(answer), "changed");
  out << (output == Output::json ? answer : did ? changed : unchanged) << '\n';
}

}  // namespace

int run_drain(DrainOptions const& options, config::Environment const& environment,
              std::ostream& out, std::ostream& err) {
  ipc::Drain drain{.exit = options.exit, .timeout = std::nullopt};
  if (options.timeout) {
    drain.timeout = config::parse_duration(*options.timeout).value;
    if (!drain.timeout) {
      err << "lastcall drain: --timeout " << *options.timeout
          << ": expected a duration such as 30s\n";
      return kExitUsage;
    }
  }
  auto [client, exit_code] = connect_or_complain(options.common, environment, err);
  if (!client) {
    return exit_code;
  }
  auto const answer = ask_or_complain(*client, drain, err);
  if (!answer) {
    return kExitFailure;
  }
  print_answer(*answer, options.common.output, options.exit ? "stopping" : "draining",
               "already under way", out);
  if (!options.wait) {
    return kExitSuccess;
  }
  std::string const phase = phase_of(*answer);
  if (!options.exit) {
    return follow_status(*client, options.common.output, out, err, Follow::drain, phase);
  }
  int const code = follow_status(*client, options.common.output, out, err, Follow::stop, phase);
  if (code == kExitSuccess && options.common.output == Output::text) {
    out << "stopped\n";
  }
  return code;
}

int run_resume(OperatorOptions const& options, config::Environment const& environment,
               std::ostream& out, std::ostream& err) {
  auto [client, exit_code] = connect_or_complain(options, environment, err);
  if (!client) {
    return exit_code;
  }
  auto const answer = ask_or_complain(*client, ipc::Resume{}, err);
  if (!answer) {
    return kExitFailure;
  }
  print_answer(*answer, options.output, "resumed", "nothing to resume", out);
  return kExitSuccess;
}

}  // namespace lastcall::cli
