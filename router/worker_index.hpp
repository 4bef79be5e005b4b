// Finds which of many workers serve a model. The index is computed once for each set of workers,
// not for each request.
//
// Values only, no thread rule.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lastcall::router {

class WorkerIndex {
 public:
  /// Adds the next worker; `model` is empty if it serves any.
  void add(std::string_view model) {
    if (model.empty()) {
      any_.push_back(size_);
      for (auto& [name, places] : of_) {
        places.push_back(size_);
      }
    } else if (auto const found = of_.find(model); found != of_.end()) {
      found->second.push_back(size_);
    } else {
      std::vector<std::size_t> places = any_;
      places.push_back(size_);
      of_.emplace(model, std::move(places));
      models_.insert(std::lower_bound(models_.begin(), models_.end(), model), std::string(model));
    }
    ++size_;
  }

  /// The places of the workers that serve this model, in ascending order.
  std::vector<std::size_t> const& of(std::string_view model) const {
    auto const found = of_.find(model);
    return found == of_.end() ? any_ : found->second;
  }
  bool announces(std::string_view model) const { return of_.contains(model); }
  /// All models, each once and in order.
  std::vector<std::string> const& models() const { return models_; }

 private:
  std::size_t size_ = 0;
  std::vector<std::size_t> any_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> of_;
  std::vector<std::string> models_;
};

}  // namespace lastcall::router
