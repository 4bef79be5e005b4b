#include "router/source_log.hpp"

#include <optional>
#include <utility>

namespace lastcall::router {

void SourceLog::was_read(std::size_t number, std::string const& source,
                         std::string const& problem) {
  if (problem.empty() && troubles_.ended(number, source)) {
    log_.info("a source of workers can be read again", {{"source", source}});
  } else if (!problem.empty() && troubles_.failed(number, source, problem)) {
    log_.warning("cannot read a source of workers: its last known workers stay in use",
                 {{"source", source}, {"detail", problem}});
  }
}

void SourceLog::know_name(std::size_t number, std::string const& source, bool has_workers) {
  if (has_workers) {
    names_[number] = source;
  } else {
    names_.erase(number);
  }
}

void SourceLog::note(std::vector<ModelConflict> conflicts) {
  latest_ = std::move(conflicts);
  judge_soon_.request();
}

void SourceLog::judge() {
  std::optional<ModelConflict> const conflict = conflicts_.note(latest_);
  if (!conflict) {
    return;
  }
  log_.warning("sources name different models for a worker: the first source decides",
               {{"worker", conflict->url},
                {"source", names_[conflict->source]},
                {"model", conflict->model},
                {"other_source", names_[conflict->other]},
                {"other_model", conflict->other_model},
                {"workers", conflicts_.count()}});
}

}  // namespace lastcall::router
