#include <ostream>
#include <string>
#include <vector>

#include <unistd.h>

#include "base/json_member.hpp"
#include "supervisor/cli/app.hpp"
#include "supervisor/cli/requests_view.hpp"
#include "supervisor/cli/subcommands.hpp"
#include "telemetry/terminal.hpp"

namespace lastcall::cli {

int run_requests(OperatorOptions const& options, config::Environment const& environment,
                 std::ostream& out, std::ostream& err) {
  auto [client, exit_code] = connect_or_complain(options, environment, err);
  if (!client) {
    return exit_code;
  }
  ipc::RequestsQuery query;
  std::vector<JsonValue> all;
  do {
    auto const page = ask_for_object(*client, query, "a page of requests", err);
    if (!page) {
      return kExitFailure;
    }
    for (JsonValue const& request : json::member(*page, "requests")) {
      if (options.output == Output::json) {  // one line per request, so that no page is visible
        out << request.dump() << '\n';
      } else {
        all.push_back(request);
      }
    }
    query.after = page->value("next", std::string());
  } while (!query.after.empty());
  if (options.output == Output::text) {
    out << requests_text(all, telemetry::terminal_of(STDOUT_FILENO, environment).columns);
  }
  return kExitSuccess;
}

}  // namespace lastcall::cli
