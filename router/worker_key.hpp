// The key that workers require from each client, for the router's own questions.
//
// Rules:
//  1. It is the first line of `migration.key_file`, which is read for each question, because keys
//     are rotated. Without a file, it is the value that the environment variable had when the
//     router started.
//  2. It is sent only to workers, in `Authorization: Bearer`, and never logged.
//  3. A file without a key is reported once, and its recovery is reported once; meanwhile questions
//     are sent without a key.
//
// Thread rule: the router's thread. Source: docs/router.md, 'What a worker can do'.
#pragma once

#include <optional>
#include <string>

#include "telemetry/log.hpp"

namespace lastcall::router {

class WorkerKey {
 public:
  explicit WorkerKey(telemetry::Log& log) : log_(log) {}

  /// The lines for a head; empty if there is no key.
  std::string lines(std::optional<std::string> const& file);

 private:
  std::optional<std::string> read(std::optional<std::string> const& file);
  void report(std::string const& problem);

  telemetry::Log& log_;
  std::string problem_;  // the problem that was reported last
};

}  // namespace lastcall::router
