#include <cstddef>
#include <cstdint>
#include <ostream>
#include <utility>

#include <nlohmann/json.hpp>

#include "ipc/codec.hpp"
#include "ipc/limits.hpp"
#include "supervisor/cli/app.hpp"
#include "supervisor/cli/subcommands.hpp"

namespace lastcall::cli {
namespace {

using Json = nlohmann::ordered_json;

std::size_t line_size(ipc::Cancel order, std::string id) {
  constexpr std::uint64_t kLongSeq = 1'000'000'000;
  order.ids = {std::move(id)};
  std::string line;
  return ipc::encode(ipc::ToSupervisor(order), kLongSeq, line) ? line.size() : ipc::kMaxLine;
}

/// A message with as many of the ids, beginning at `first`, as one line holds; advances `first`.
ipc::Cancel next_order(ipc::Cancel const& plain, std::vector<std::string> const& ids,
                       std::size_t& first) {
  constexpr std::size_t kPunctuation = sizeof(R"("",)") - 1;
  std::string const shortest = "x";
  std::size_t const bare = line_size(plain, shortest) - shortest.size();
  std::size_t size = bare;
  ipc::Cancel order = plain;
  while (first < ids.size()) {
    size += line_size(plain, ids[first]) - bare + kPunctuation;
    if (size > ipc::kMaxLine && !order.ids.empty()) {
      break;
    }
    order.ids.push_back(ids[first++]);
  }
  return order;
}

/// Merges two answers: `changed` covers both, everything else is from the later one.
void join(Json& answer, std::string const& next) {
  Json parsed = Json::parse(next, nullptr, false);
  if (!parsed.is_object()) {
    return;
  }
  if (answer.value("changed", false)) {
    parsed["changed"] = true;
  }
  answer = std::move(parsed);
}

}  // namespace

std::string id_problem(std::string const& id) {
  bool const fits = !id.empty() && id.size() <= ipc::kMaxId;
  return fits ? ""
              : "expected 1 to " + std::to_string(ipc::kMaxId) + " bytes, got " +
                    std::to_string(id.size());
}

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
  ipc::Cancel plain;
  plain.root = options.root;
  plain.mode = options.kill ? ipc::CancelMode::kill : ipc::CancelMode::stop;
  plain.reason = ipc::CancelReason::operator_;
  Json all = Json::object();
  std::size_t first = 0;
  do {
    std::size_t const answered = first;
    auto const answer = ask_or_complain(*client, next_order(plain, options.ids, first), err);
    if (!answer) {
      if (answered > 0) {
        err << "lastcall cancel: the first " << answered << " of " << options.ids.size()
            << " ids were accepted before that\n";
      }
      return kExitFailure;
    }
    join(all, *answer);
  } while (first < options.ids.size());
  bool const reached = all.value("changed", false);
  char const* const done = options.kill ? "cut off" : "asked to stop";
  if (options.common.output == Output::json) {
    out << all.dump() << '\n';
  } else {
    out << (reached ? done : "nothing to cancel: not in flight, or cancelled already") << '\n';
  }
  return reached ? kExitSuccess : kExitFailure;
}

}  // namespace lastcall::cli
