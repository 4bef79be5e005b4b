#include <ostream>
#include <string>

#include <nlohmann/json.hpp>

#include "supervisor/cli/app.hpp"
#include "supervisor/cli/subcommands.hpp"

namespace lastcall::cli {
namespace {

using Json = nlohmann::ordered_json;

Json list_of(Json const& answer, char const* key) {
  return answer.value(key, Json::array());
}

std::string text_of(Json const& entry, char const* key) {
  std::string const text = entry.value(key, std::string());
  return text.empty() ? "(unset)" : text;
}

std::string change_text(Json const& entry) {
  return entry.value("key", std::string()) + ": " + text_of(entry, "before") + " -> " +
         text_of(entry, "after");
}

void print_text(Json const& answer, std::ostream& out, std::ostream& err) {
  for (Json const& text : list_of(answer, "errors")) {
    err << text.get<std::string>() << '\n';
  }
  for (Json const& text : list_of(answer, "warnings")) {
    err << "warning: " << text.get<std::string>() << '\n';
  }
  for (Json const& entry : list_of(answer, "refused")) {
    err << "not changed: " << change_text(entry) << ": " << entry.value("reason", std::string())
        << '\n';
  }
  if (std::size_t const count = answer.value("left_out", std::size_t{0}); count > 0) {
    err << "and " << count << " more; see the supervisor's log\n";
  }
  if (!answer.value("ok", false)) {
    err << "not reloaded: the running configuration stays as it is\n";
    return;
  }
  for (Json const& entry : list_of(answer, "applied")) {
    out << change_text(entry) << '\n';
  }
  if (!answer.value("changed", false)) {
    out << "nothing changed\n";
  }
}

}  // namespace

int run_reload(OperatorOptions const& options, config::Environment const& environment,
               std::ostream& out, std::ostream& err) {
  auto [client, exit_code] = connect_or_complain(options, environment, err);
  if (!client) {
    return exit_code;
  }
  auto const answer = ask_for_object(*client, ipc::Reload{}, "a result of a reload", err);
  if (!answer) {
    return kExitFailure;
  }
  if (options.output == Output::json) {
    out << answer->dump() << '\n';
  } else {
    print_text(*answer, out, err);
  }
  if (!answer->value("ok", false)) {
    return kExitUsage;
  }
  return list_of(*answer, "refused").empty() ? kExitSuccess : kExitFailure;
}

}  // namespace lastcall::cli
