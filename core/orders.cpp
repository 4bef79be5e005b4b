#include "core/orders.hpp"

#include <utility>

namespace lastcall::lifecycle {

Orders::Orders() = default;
Orders::Orders(Orders const& other) = default;
Orders::~Orders() = default;

void Orders::clear() {
  actions_.clear();
}

void Orders::act(Action action) {
  actions_.push_back(std::move(action));
}

void Orders::put_first(Action action) {
  actions_.insert(actions_.begin(), std::move(action));
}

void Orders::answer(bool changed) {
  if (asker_waits_) {
    act(Answer{changed});
  }
}

void Orders::refuse_command(std::string why) {
  if (asker_waits_) {
    act(Refuse{Refusal::conflict, std::move(why)});
  }
}

}  // namespace lastcall::lifecycle
