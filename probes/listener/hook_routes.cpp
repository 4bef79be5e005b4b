#include "probes/listener/hook_routes.hpp"

#include <string_view>

#include <nlohmann/json.hpp>

#include "base/json_member.hpp"
#include "base/same_secret.hpp"

namespace lastcall::probes {
namespace {

constexpr std::string_view kEnginePath = "/lifecycle/prestop/engine";
constexpr std::string_view kSupervisorPath = "/lifecycle/prestop/supervisor";

Reply refusal(int status, std::string_view code, std::string const& message) {
  return json_reply(
      status,
      json::dump(nlohmann::ordered_json{{"error", {{"code", code}, {"message", message}}}}));
}

/// Older kubelets (seen: 1.20) put a slash before a path that has its own.
std::string_view without_doubled_slash(std::string_view path) {
  return path.starts_with("//") ? path.substr(1) : path;
}

}  // namespace

std::variant<Hook, Reply> route_hook(Request const& request,
                                     std::optional<std::string> const& token) {
  if (token) {
    std::string_view const given = request.header(kTokenHeader);
    if (given.empty()) {
      return refusal(401, "not_allowed", "the header " + std::string(kTokenHeader) + " is missing");
    }
    if (!same_secret(given, *token)) {
      return refusal(403, "not_allowed",
                     "the header " + std::string(kTokenHeader) + " holds another token");
    }
  } else if (request.caller.is_local) {
    return refusal(403, "not_allowed",
                   "a call from within the pod, or on the host's network, is refused unless "
                   "lifecycle.token is set");
  }
  std::string_view const path = without_doubled_slash(request.path);
  bool const is_engine = path == kEnginePath;
  if (!is_engine && path != kSupervisorPath) {
    return refusal(404, "unknown_path",
                   "no such path: " + request.path + "; there are " + std::string(kEnginePath) +
                       " and " + std::string(kSupervisorPath));
  }
  if (request.method != "GET" && request.method != "POST") {
    Reply reply = refusal(405, "unknown_method",
                          "method " + request.method + " is not allowed here, use GET or POST");
    reply.headers.emplace_back("Allow", "GET, POST");
    return reply;
  }
  return is_engine ? Hook::engine : Hook::supervisor;
}

std::string hook_result(std::string_view why, std::chrono::milliseconds held) {
  return nlohmann::ordered_json(
             {{"status", "returned"}, {"why", std::string(why)}, {"held_ms", held.count()}})
      .dump();
}

Reply hook_reply(std::string_view why, std::chrono::milliseconds held) {
  return json_reply(200, hook_result(why, held));
}

}  // namespace lastcall::probes
