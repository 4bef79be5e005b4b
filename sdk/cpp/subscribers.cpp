#include "sdk/cpp/subscribers.hpp"

#include <algorithm>
#include <utility>

namespace lastcall::sdk {

void Subscribers::add(RequestContext::CallbackId id, Level level, Callback callback) {
  waiting_.push_back({id, level, std::move(callback)});
}

std::vector<Subscribers::Callback> Subscribers::take(Level level) {
  std::vector<Callback> due;
  for (Subscriber& one : waiting_) {
    if (one.level <= level) {
      due.push_back(std::move(one.callback));
    }
  }
  std::erase_if(waiting_, [&](Subscriber const& one) { return one.level <= level; });
  return due;
}

std::optional<Subscribers::Callback> Subscribers::remove(RequestContext::CallbackId id) {
  auto const found = std::find_if(waiting_.begin(), waiting_.end(),
                                  [&](Subscriber const& one) { return one.id == id; });
  if (found == waiting_.end()) {
    return std::nullopt;
  }
  std::optional<Callback> removed(std::move(found->callback));
  waiting_.erase(found);
  return removed;
}

}  // namespace lastcall::sdk
