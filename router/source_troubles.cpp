#include "router/source_troubles.hpp"

namespace lastcall::router {

bool SourceTroubles::failed(std::size_t number, std::string const& source,
                            std::string const& reason) {
  Trouble& trouble = by_name_[source][number];
  trouble.latest = reason;
  return trouble.reasons.size() < kMostReasons && trouble.reasons.insert(reason).second;
}

bool SourceTroubles::ended(std::size_t number, std::string const& source) {
  auto const found = by_name_.find(source);
  bool const was_troubled = found != by_name_.end() && found->second.erase(number) > 0;
  if (was_troubled && found->second.empty()) {
    by_name_.erase(found);
  }
  return was_troubled;
}

std::string SourceTroubles::text() const {
  std::string lines;
  for (auto const& [source, troubles] : by_name_) {
    lines.append("the source '").append(source);
    lines.append("' cannot be read; its last known workers are used: ");
    lines.append(troubles.begin()->second.latest).append("\n");
  }
  return lines;
}

}  // namespace lastcall::router
