// Logs what is wrong with the sources of workers: those that cannot be read, and those that name
// different models for a worker.
//
// Conflicts are judged once in a turn of the loop: a reload brings the new sources before the old
// ones go, so that the models of both are known for a moment.
//
// Thread rule: the owner's thread. Source: docs/router.md, 'Workers'.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "base/once_per_turn.hpp"
#include "router/fleet.hpp"
#include "router/source_conflicts.hpp"
#include "router/source_troubles.hpp"
#include "telemetry/log.hpp"

namespace lastcall::router {

class SourceLog {
 public:
  SourceLog(boost::asio::io_context& io, telemetry::Log& log)
      : log_(log), judge_soon_(io, [this] { judge(); }) {}

  /// The source has been read (an empty problem), or cannot be read.
  void was_read(std::size_t number, std::string const& source, std::string const& problem);
  /// The source now names workers, or none any more; a conflict names sources by these names.
  void know_name(std::size_t number, std::string const& source, bool has_workers);
  /// Receives all conflicts that exist now.
  void note(std::vector<ModelConflict> conflicts);

  /// The sources that cannot be read.
  SourceTroubles& troubles() { return troubles_; }

 private:
  void judge();

  telemetry::Log& log_;
  SourceTroubles troubles_;
  std::vector<ModelConflict> latest_;
  SourceConflicts conflicts_;
  OncePerTurn<boost::asio::io_context> judge_soon_;
  std::map<std::size_t, std::string> names_;  // of the sources that name workers, by number
};

}  // namespace lastcall::router
