#include "supervisor/cli/requests.hpp"

#include <ostream>
#include <string>

#include <nlohmann/json.hpp>

#include "supervisor/cli/app.hpp"
#include "supervisor/cli/status_view.hpp"

namespace lastcall::cli {

int run_requests(OperatorOptions const& options, config::Environment const& environment,
                 std::ostream& out, std::ostream& err) {
  auto [client, exit_code] = connect_or_complain(options, environment, err);
  if (!client) {
    return exit_code;
  }
  ipc::RequestsQuery query;
  bool first = true;
  do {
    auto const page = ask_or_complain(*client, query, err);
    if (!page) {
      return kExitFailure;
    }
    auto const parsed = nlohmann::ordered_json::parse(*page, nullptr, false);
    if (!parsed.is_object()) {
      err << "lastcall: the supervisor answered something that is no page of requests\n";
      return kExitFailure;
    }
    switch (options.output) {
      case Output::json:  // one line a request, so that pages do not show
        for (auto const& request : parsed.value("requests", nlohmann::ordered_json::array())) {
          out << request.dump() << '\n';
        }
        break;
      case Output::text:
        out << requests_text(*page, first);
        break;
    }
    first = false;
    query.after = parsed.value("next", std::string());
  } while (!query.after.empty());
  return kExitSuccess;
}

}  // namespace lastcall::cli
