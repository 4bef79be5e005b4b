#include "router/source_troubles.hpp"

#include <string_view>
#include <utility>

namespace lastcall::router {

bool SourceTroubles::failed(std::size_t number, std::string const& source,
                            std::string const& reason) {
  Trouble& trouble = by_name_[source][number];
  if (trouble.latest != reason || trouble.reasons.empty()) {
    trouble.latest = reason;
    is_changed_ = true;
  }
  return trouble.reasons.size() < kMostReasons && trouble.reasons.insert(reason).second;
}

bool SourceTroubles::ended(std::size_t number, std::string const& source) {
  auto const found = by_name_.find(source);
  bool const was_troubled = found != by_name_.end() && found->second.erase(number) > 0;
  if (was_troubled && found->second.empty()) {
    by_name_.erase(found);
  }
  is_changed_ = is_changed_ || was_troubled;
  return was_troubled;
}

std::optional<std::string> SourceTroubles::changed_text() {
  if (!std::exchange(is_changed_, false)) {
    return std::nullopt;
  }
  std::string lines;
  for (auto const& [source, troubles] : by_name_) {
    std::set<std::string_view> written;
    for (auto const& [number, trouble] : troubles) {
      if (written.insert(trouble.latest).second) {
        lines.append("the source '").append(source);
        lines.append("' cannot be read; its last known workers are used: ");
        lines.append(trouble.latest).append("\n");
      }
    }
  }
  return lines;
}

}  // namespace lastcall::router
