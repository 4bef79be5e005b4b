#include "router/continuation/memory_budget.hpp"

#include <algorithm>
#include <bit>

namespace lastcall::router::continuation {

std::optional<MemoryBudget::Holder> MemoryBudget::set(Holder holder, std::size_t bytes) {
  std::size_t& size = sizes_[holder];
  auto const before = static_cast<std::size_t>(std::bit_width(size));
  auto const after = static_cast<std::size_t>(std::bit_width(bytes));
  used_ = used_ - size + bytes;
  size = bytes;
  if (before != after) {
    classes_[before].erase(holder);
    classes_[after].insert(holder);
  }
  if (used_ <= most_) {
    return std::nullopt;
  }
  Holder const dropped = largest();
  leave(dropped);
  ++dropped_;
  return dropped;
}

void MemoryBudget::leave(Holder holder) {
  auto const found = sizes_.find(holder);
  if (found == sizes_.end()) {
    return;
  }
  used_ -= found->second;
  classes_[static_cast<std::size_t>(std::bit_width(found->second))].erase(holder);
  sizes_.erase(found);
}

MemoryBudget::Holder MemoryBudget::largest() const {
  auto const found = std::find_if(classes_.rbegin(), classes_.rend(),
                                  [](auto const& holders) { return !holders.empty(); });
  return *found->begin();
}

}  // namespace lastcall::router::continuation
