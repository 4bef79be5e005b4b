#include "supervisor/runtime/record/final_report.hpp"

#include <csignal>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json_member.hpp"

namespace lastcall::runtime {
namespace {

constexpr int kKilled = 128 + SIGKILL;

}  // namespace

void FinalReport::shim_ordered(int code, bool end_is_reported) {
  ordered_ = code == kKilled && !end_is_reported ? text_ : std::string();
}

std::optional<FinalReport::Correction> FinalReport::engine_exited(ipc::EngineExited const& exited) {
  std::string const report = std::exchange(ordered_, {});
  bool const was_killed = exited.signal == SIGKILL || exited.code == kKilled;
  if (report.empty() || was_killed) {
    return std::nullopt;
  }
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(report, nullptr, false);
  if (!json.is_object()) {
    return std::nullopt;
  }
  int const code = exited.ordered ? 0 : 1;
  json["exit_code"] = code;
  return Correction{code, json::dump(json)};
}

}  // namespace lastcall::runtime
