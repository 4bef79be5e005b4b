#include "router/continuation/memory_budget.hpp"

#include <algorithm>
#include <bit>

namespace lastcall::router::continuation {

void MemoryBudget::set(Holder& holder, std::size_t bytes) {
  auto const from = static_cast<std::size_t>(std::bit_width(holder.bytes_));
  auto const to = static_cast<std::size_t>(std::bit_width(bytes));
  used_ = used_ - holder.bytes_ + bytes;
  holder.bytes_ = bytes;
  if (bytes == 0) {
    holder.leave_ring();
  } else if (from != to) {
    classes_[to].push_back(holder);
  }
}

MemoryBudget::Holder* MemoryBudget::excess() const {
  auto const found = std::find_if(classes_.rbegin(), classes_.rend(),
                                  [](auto const& holders) { return !holders.empty(); });
  return used_ > most_ ? &found->front() : nullptr;
}

}  // namespace lastcall::router::continuation
