#include "supervisor/cli/cancel.hpp"

#include <ostream>

#include <nlohmann/json.hpp>

#include "supervisor/cli/app.hpp"

namespace lastcall::cli {

int run_cancel(CancelOptions const& options, config::Environment const& environment,
               std::ostream& out, std::ostream& err) {
  if (options.ids.empty() == options.root.empty()) {
    err << "lastcall cancel: name either ids or --root ID\n";
    return kExitUsage;
  }
  auto [client, exit_code] = connect_or_complain(options.common, environment, err);
  if (!client) {
    return exit_code;
  }
  ipc::Cancel cancel;
  cancel.ids = options.ids;
  cancel.root = options.root;
  cancel.mode = options.kill ? ipc::CancelMode::kill : ipc::CancelMode::stop;
  cancel.reason = ipc::CancelReason::operator_;
  auto const answer = ask_or_complain(*client, cancel, err);
  if (!answer) {
    return kExitFailure;
  }
  auto const parsed = nlohmann::ordered_json::parse(*answer, nullptr, false);
  bool const reached = parsed.is_object() && parsed.value("changed", false);
  char const* const done = options.kill ? "told to cut off" : "asked to stop";
  switch (options.common.output) {
    case Output::json:
      out << *answer << '\n';
      break;
    case Output::text:
      out << (reached ? done : "nothing to cancel: not in flight, or cancelled already") << '\n';
      break;
  }
  return reached ? kExitSuccess : kExitFailure;
}

}  // namespace lastcall::cli
