#include "core/progress_watch.hpp"

namespace lastcall::lifecycle {

std::string ProgressWatch::text(Instant now) const {
  auto const since = still_since();
  return since ? "work in flight, nothing moved for " + seconds_text(now - *since)
               : "nothing in flight";
}

std::string seconds_text(Duration d) {
  return d.count() % 1000 == 0 ? std::to_string(d.count() / 1000) + " s"
                               : std::to_string(d.count()) + " ms";
}

}  // namespace lastcall::lifecycle
