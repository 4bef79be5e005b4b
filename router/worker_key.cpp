#include "router/worker_key.hpp"

#include "config/environment.hpp"
#include "config/text.hpp"
#include "discovery/secret_file.hpp"
#include "router/settings.hpp"

namespace lastcall::router {

std::string WorkerKey::lines(std::optional<std::string> const& file) {
  std::optional<std::string> const key = read(file);
  if (key && !config::kToken.accepts(*key)) {
    report((file ? *file : kWorkerKeyVariable) + std::string(": expected ") +
           std::string(config::kToken.expected));
    return {};
  }
  if (key) {
    report({});
  }
  return key ? "Authorization: Bearer " + *key + "\r\n" : "";
}

std::optional<std::string> WorkerKey::read(std::optional<std::string> const& file) {
  if (!file) {
    return config::process_environment()(kWorkerKeyVariable);
  }
  std::optional<std::string> key = discovery::read_secret(*file);
  if (!key || key->empty()) {
    report(discovery::why_no_secret(*file));
    return std::nullopt;
  }
  if (key->back() == '\r') {  // editors of other systems end lines with it
    key->pop_back();
  }
  return key;
}

void WorkerKey::report(std::string const& problem) {
  if (problem == problem_) {
    return;
  }
  problem_ = problem;
  if (problem.empty()) {
    log_.info("the key for workers can be read again");
  } else {
    log_.warning("workers are probed without a key", {{"detail", problem}});
  }
}

}  // namespace lastcall::router
