// The orders of a step, in their sequence.
//
// Rules:
//  1. What must survive this supervisor comes first in its step: see put_first().
//  2. No peer waits for the answer to a command that was held until the recovery was over; it was
//     answered when it came.
//
// Owned by the core's thread.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/action.hpp"

namespace lastcall::lifecycle {

class Orders {
 public:
  // All that copies or destroys actions is in orders.cpp: an inline function would have it compiled
  // in every file that includes this.
  Orders();
  Orders(Orders const& other);
  Orders& operator=(Orders const&) = delete;
  ~Orders();

  void clear();
  std::span<Action const> all() const { return actions_; }

  void act(Action action);
  void put_first(Action action);
  /// Answers a command with whether it changed anything.
  void answer(bool changed);
  void refuse_command(std::string why);
  /// The last order of this kind in this step, or null.
  template <typename T>
  T const* last() const {
    auto const found = std::find_if(actions_.rbegin(), actions_.rend(), [](Action const& action) {
      return std::holds_alternative<T>(action);
    });
    return found == actions_.rend() ? nullptr : &std::get<T>(*found);
  }
  void asker_waits(bool waits) { asker_waits_ = waits; }

 private:
  std::vector<Action> actions_;
  bool asker_waits_ = true;
};

}  // namespace lastcall::lifecycle
