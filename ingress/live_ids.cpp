#include "ingress/live_ids.hpp"

namespace lastcall::ingress {

std::string LiveIds::claim(std::string_view wanted, bool keep) {
  std::string id(wanted);
  std::lock_guard const lock(mutex_);
  for (unsigned n = 2; taken_.contains(id); ++n) {
    id = std::string(wanted) + "-" + std::to_string(n);
  }
  if (keep) {
    taken_.insert(id);
  }
  return id;
}

void LiveIds::release(std::span<std::string const> ids) {
  std::lock_guard const lock(mutex_);
  for (std::string const& id : ids) {
    taken_.erase(id);
  }
}

}  // namespace lastcall::ingress
