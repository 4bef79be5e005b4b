// The key that workers want from each client, for questions of the router's own.
//
// Rules:
//  1. It is the first line of `migration.key_file`, read for each question, because keys are
//     rotated; without a file it is the variable's, as the router was started with it.
//  2. It goes to workers alone, in `Authorization: Bearer`, and never into the log.
//  3. A file that gives no key is reported once, and once more when it gives one again; meanwhile
//     questions go without one.
//
// Thread rule: the router's thread. Source: docs/router.md, 'What a worker can'.
#pragma once

#include <optional>
#include <string>

#include "telemetry/log.hpp"

namespace lastcall::router {

class WorkerKey {
 public:
  explicit WorkerKey(runtime::Log& log) : log_(log) {}

  /// Lines of a head; none where there is no key.
  std::string lines(std::optional<std::string> const& file);

 private:
  std::optional<std::string> read(std::optional<std::string> const& file);
  void report(std::string const& problem);

  runtime::Log& log_;
  std::string problem_;  // that was reported last
};

}  // namespace lastcall::router
