#include "ingress/live_ids.hpp"

namespace lastcall::ingress {

std::string LiveIds::claim(std::string_view wanted, bool keep) {
  std::lock_guard const lock(mutex_);
  std::string id = id_apart(wanted, suffixes_,
                            [this](std::string const& each) { return taken_.contains(each); });
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
