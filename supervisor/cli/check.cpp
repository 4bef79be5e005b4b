#include <ostream>
#include <utility>

#include <nlohmann/json.hpp>

#include "supervisor/cli/app.hpp"
#include "supervisor/cli/problems.hpp"
#include "supervisor/cli/subcommands.hpp"

namespace lastcall::cli {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(config::Problems const& problems) {
  Json list = Json::array();
  for (config::Problem const& problem : problems) {
    Json json{{"source", problem.place.source}};
    if (problem.place.line > 0) {
      json["line"] = problem.place.line;
      json["column"] = problem.place.column;
    }
    json["key"] = problem.key;
    json["message"] = problem.text;
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

int run_check(CheckOptions const& options, config::Environment const& environment,
              std::ostream& out, std::ostream& err) {
  config::LoadOptions load = options.load;
  load.look_around = true;
  config::Loaded const loaded = config::load(load, environment);
  bool const is_good = loaded.errors.empty() && (!options.strict || loaded.warnings.empty());
  switch (options.output) {
    case Output::text:
      print_problems(loaded, err);
      if (is_good || !loaded.errors.empty()) {
        (is_good ? out : err) << summary(loaded) << '\n';
      } else {
        err << name_of(loaded) << ": warnings are errors (--strict)\n";
      }
      break;
    case Output::json: {
      Json const json{{"ok", is_good},
                      {"source", loaded.source},
                      {"errors", to_json(loaded.errors)},
                      {"warnings", to_json(loaded.warnings)},
                      {"notes", to_json(loaded.notes)}};
      // Flags are bytes, and need not be UTF-8.
      out << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
      break;
    }
  }
  return is_good ? kExitSuccess : kExitUsage;
}

}  // namespace lastcall::cli
