#include <algorithm>
#include <chrono>
#include <ostream>
#include <thread>
#include <variant>

#include <nlohmann/json.hpp>

#include "base/json_member.hpp"
#include "config/text.hpp"
#include "supervisor/cli/app.hpp"
#include "supervisor/cli/subcommands.hpp"

namespace lastcall::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// The interval between attempts to connect to a supervisor that does not run yet.
constexpr milliseconds kRetry{100};
/// Longer than any caller waits, but short enough that the clock does not overflow.
constexpr milliseconds kLongest = std::chrono::hours{24} * 36'500;

struct Wait {
  Clock::time_point until;
  std::string last = "no supervisor answered";

  milliseconds left() const {
    return std::max(std::chrono::duration_cast<milliseconds>(until - Clock::now()),
                    milliseconds{0});
  }
};

bool is_ready(std::string const& status, std::string& why) {
  auto const parsed = json::parsed<nlohmann::ordered_json>(status);
  if (!parsed.is_object()) {
    return false;
  }
  why = parsed.value("ready_reason", std::string());
  return parsed.value("ready", false);
}

/// Follows one connection: true if ready, false if the connection ended or the time was over.
bool follow(ipc::OperatorClient& client, Wait& wait) {
  auto const answer = client.request(ipc::Watch{}, std::min(kAnswerTimeout, wait.left()));
  if (auto const* const failure = std::get_if<ipc::Failure>(&answer)) {
    wait.last = failure->text;
    return false;
  }
  while (wait.left().count() > 0) {
    auto const next = client.next(wait.left());
    auto const* const message = std::get_if<ipc::FromSupervisor>(&next);
    if (message == nullptr) {
      return false;
    }
    auto const* const update = std::get_if<ipc::StatusUpdate>(message);
    if (update != nullptr && is_ready(update->status, wait.last)) {
      return true;
    }
  }
  return false;
}

}  // namespace

int run_wait_ready(WaitReadyOptions const& options, config::Environment const& environment,
                   std::ostream& out, std::ostream& err) {
  auto const timeout = config::parse_duration(options.timeout).value;
  if (!timeout) {
    err << "lastcall wait-ready: --timeout " << options.timeout
        << ": expected a duration such as 60s\n";
    return kExitUsage;
  }
  bool const is_json = options.common.output == Output::json;
  auto const path = admin_socket(options.common, environment, err);
  if (!path) {
    return kExitUsage;
  }
  Wait wait{.until = Clock::now() + std::min<milliseconds>(*timeout, kLongest)};
  do {
    auto connected = ipc::OperatorClient::connect(
        *path, "lastcall wait-ready", std::clamp(wait.left(), milliseconds{1}, kAnswerTimeout));
    if (auto* const client = std::get_if<ipc::OperatorClient>(&connected)) {
      if (follow(*client, wait)) {
        out << (is_json ? R"({"ready":true})" : "ready") << '\n';
        return kExitSuccess;
      }
    } else {
      wait.last = std::get<ipc::Failure>(connected).text;
    }
    std::this_thread::sleep_for(std::min(kRetry, wait.left()));
  } while (wait.left().count() > 0);
  if (is_json) {
    nlohmann::ordered_json const json{{"ready", false}, {"reason", wait.last}};
    out << json::dump(json) << '\n';
    return kExitFailure;
  }
  err << "lastcall wait-ready: not ready after " << options.timeout << ": " << wait.last << '\n';
  return kExitFailure;
}

}  // namespace lastcall::cli
