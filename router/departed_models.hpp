// Models whose last worker has left. For a while, their clients receive a hint to retry instead of
// the answer that there is no such model.
//
// Pure: time is an argument. No thread rule. Source: docs/router.md, 'Workers'.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "router/fleet.hpp"

namespace lastcall::router {

class DepartedModels {
 public:
  /// The time for which a rollout that replaces every worker of a model may leave it without one.
  static constexpr std::chrono::minutes kRemembered{10};

  /// Must be called after each change of the fleet.
  void note(Fleet const& fleet, Fleet::News const& news, Time now) {
    std::erase_if(left_at_, [now](auto const& each) { return each.second + kRemembered < now; });
    for (auto const& worker : news.left) {
      if (!worker->model_is_any() && !fleet.announces(worker->model())) {
        left_at_.insert_or_assign(worker->model(), now);
      }
    }
  }

  bool holds(std::string_view model, Time now) const {
    auto const found = left_at_.find(model);
    return found != left_at_.end() && now <= found->second + kRemembered;
  }

 private:
  std::map<std::string, Time, std::less<>> left_at_;
};

}  // namespace lastcall::router
