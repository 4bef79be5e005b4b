// Logs what is wrong with the sources of workers: those that cannot be read, and those that name
// different models for a worker.
//
// Thread rule: the owner's thread. Source: docs/router.md, 'Workers'.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "router/fleet.hpp"
#include "router/source_conflicts.hpp"
#include "router/source_troubles.hpp"
#include "telemetry/log.hpp"

namespace lastcall::router {

class SourceLog {
 public:
  explicit SourceLog(runtime::Log& log) : log_(log) {}

  /// The source has been read (an empty problem), or cannot be read.
  void was_read(std::size_t number, std::string const& source, std::string const& problem);
  /// The source now names workers, or none any more; a conflict names sources by these names.
  void know_name(std::size_t number, std::string const& source, bool has_workers);
  /// Receives all conflicts that exist now.
  void note(std::vector<ModelConflict> const& conflicts);

  /// The sources that cannot be read.
  SourceTroubles& troubles() { return troubles_; }

 private:
  runtime::Log& log_;
  SourceTroubles troubles_;
  SourceConflicts conflicts_;
  std::map<std::size_t, std::string> names_;  // of the sources that name workers, by number
};

}  // namespace lastcall::router
