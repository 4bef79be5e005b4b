#include "supervisor/cli/requests.hpp"

#include <ostream>
#include <string>
#include <vector>

#include <unistd.h>

#include "supervisor/cli/app.hpp"
#include "supervisor/cli/requests_view.hpp"
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
    auto const page = ask_or_complain(*client, query, err);
    if (!page) {
      return kExitFailure;
    }
    JsonValue const parsed = parse_json(*page);
    if (!parsed.is_object()) {
      err << "lastcall: the supervisor's answer is not a page of requests\n";
      return kExitFailure;
    }
    for (JsonValue const& request : member_of(parsed, "requests")) {
      switch (options.output) {
        case Output::json:  // one line per request, so that the pages are not visible
          out << request.dump() << '\n';
          break;
        case Output::text:
          all.push_back(request);
          break;
      }
    }
    query.after = parsed.value("next", std::string());
  } while (!query.after.empty());
  if (options.output == Output::text) {
    out << requests_text(all, runtime::terminal_of(STDOUT_FILENO, environment).columns);
  }
  return kExitSuccess;
}

}  // namespace lastcall::cli
