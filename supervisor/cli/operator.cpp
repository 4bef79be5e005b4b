#include "supervisor/cli/operator.hpp"

#include <ostream>

#include <unistd.h>

#include "base/json_member.hpp"
#include "supervisor/cli/app.hpp"
#include "supervisor/cli/json_view.hpp"
#include "supervisor/cli/problems.hpp"
#include "supervisor/cli/run_sockets.hpp"

namespace lastcall::cli {

std::optional<std::string> admin_socket(OperatorOptions const& options,
                                        config::Environment const& environment, std::ostream& err) {
  if (options.admin_socket) {
    return options.admin_socket;
  }
  // The supervisor prints the warnings; a status should not repeat them.
  config::Loaded loaded = config::load(options.load, environment);
  if (!loaded.errors.empty()) {
    loaded.warnings.clear();
    loaded.notes.clear();
    print_problems(loaded, err);
    return std::nullopt;
  }
  std::string const& configured = loaded.config.ipc.admin_socket;
  std::string known = known_admin_socket(environment);
  bool const is_default = configured == config::Ipc{}.admin_socket;
  bool const is_known =
      is_default && !known.empty() && ::access(configured.c_str(), F_OK) != 0 && is_there(known);
  return is_known ? known : configured;
}

Connection connect_or_complain(OperatorOptions const& options,
                               config::Environment const& environment, std::ostream& err) {
  auto const path = admin_socket(options, environment, err);
  if (!path) {
    return {.client = std::nullopt, .exit_code = kExitUsage};
  }
  auto connected = ipc::OperatorClient::connect(*path, "lastcall", kAnswerTimeout);
  if (auto const* const failure = std::get_if<ipc::Failure>(&connected)) {
    err << "lastcall: " << failure->text << '\n';
    return {};
  }
  return {.client = std::get<ipc::OperatorClient>(std::move(connected))};
}

std::optional<std::string> ask_or_complain(ipc::OperatorClient& client,
                                           ipc::ToSupervisor const& question, std::ostream& err) {
  auto answer = client.request(question, kAnswerTimeout);
  if (auto const* const failure = std::get_if<ipc::Failure>(&answer)) {
    err << "lastcall: " << failure->text << '\n';
    return std::nullopt;
  }
  return std::get<std::string>(std::move(answer));
}

std::optional<JsonValue> ask_for_object(ipc::OperatorClient& client,
                                        ipc::ToSupervisor const& question, std::string_view what,
                                        std::ostream& err) {
  auto const text = ask_or_complain(client, question, err);
  if (!text) {
    return std::nullopt;
  }
  JsonValue answer = json::parsed<JsonValue>(*text);
  if (!answer.is_object()) {
    err << "lastcall: the supervisor's answer is not " << what << '\n';
    return std::nullopt;
  }
  return answer;
}

}  // namespace lastcall::cli
