#include "config/environment.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string_view>

#include <unistd.h>

#include "base/parse_number.hpp"
#include "config/decode_values.hpp"

namespace lastcall::config {
namespace {

constexpr char const* kUsualPath = "/usr/local/bin:/usr/bin:/bin";
constexpr char const* kPodGraceVariable = "LASTCALL_POD_GRACE_SECONDS";
constexpr Duration kKubernetesDefault{30'000};
constexpr std::int64_t kLongestGraceSeconds = 7 * 24 * 3600;

std::optional<std::int64_t> whole_seconds(std::string_view text) {
  auto const seconds = parse_number<std::int64_t>(text);
  return seconds && *seconds >= 0 && *seconds <= kLongestGraceSeconds ? seconds : std::nullopt;
}

bool is_executable(std::string const& path) {
  return ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::optional<std::string> find_command(std::string const& command,
                                        Environment const& environment) {
  if (command.find('/') != std::string::npos) {
    return is_executable(command) ? std::optional(command) : std::nullopt;
  }
  std::string const path = environment("PATH").value_or(kUsualPath);
  for (std::size_t at = 0; at <= path.size();) {
    std::size_t const end = std::min(path.find(':', at), path.size());
    std::string const folder = path.substr(at, end - at);
    std::string found = folder.empty() ? "./" + command : folder + "/" + command;
    if (is_executable(found)) {
      return found;
    }
    at = end + 1;
  }
  return std::nullopt;
}

Environment process_environment() {
  return [](char const* name) -> std::optional<std::string> {
    // No other thread changes the environment, so the value can be copied.
    char const* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') {
      return std::nullopt;
    }
    return std::string(value);
  };
}

PodGrace pod_grace(Environment const& environment, Problems& problems) {
  if (std::optional<std::string> const text = environment(kPodGraceVariable)) {
    if (std::optional<std::int64_t> const seconds = whole_seconds(*text)) {
      return {std::chrono::seconds(*seconds),
              "the pod grants " + *text + "s (" + kPodGraceVariable + ")"};
    }
    problems.push_back(
        {{kPodGraceVariable, 0, 0},
         "",
         quote(*text) + ", expected whole seconds, 0 to " + std::to_string(kLongestGraceSeconds)});
    return {};
  }
  if (environment("KUBERNETES_SERVICE_HOST")) {
    return {kKubernetesDefault, "assuming that the pod grants 30s, the Kubernetes default: " +
                                    std::string(kPodGraceVariable) + " is not set"};
  }
  return {};
}

}  // namespace lastcall::config
