#include "router/continuation/memory_budget.hpp"

#include <algorithm>
#include <bit>

namespace lastcall::router::continuation {

void MemoryBudget::set(Holder holder, std::size_t before, std::size_t bytes) {
  auto const from = static_cast<std::size_t>(std::bit_width(before));
  auto const to = static_cast<std::size_t>(std::bit_width(bytes));
  used_ = used_ - before + bytes;
  if (from == to) {
    return;
  }
  if (before > 0) {
    classes_[from].erase(holder);
  }
  if (bytes > 0) {
    classes_[to].insert(holder);
  }
}

std::optional<MemoryBudget::Holder> MemoryBudget::excess() const {
  auto const found = std::find_if(classes_.rbegin(), classes_.rend(),
                                  [](auto const& holders) { return !holders.empty(); });
  return used_ > most_ ? std::optional(*found->begin()) : std::nullopt;
}

}  // namespace lastcall::router::continuation
