// The names of the models that requests have named, as numbers.
//
// A server serves a handful of models; if a peer invents names, the names beyond the limit share
// the last number. Owned by the core's thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lastcall::lifecycle {

class ModelNames {
 public:
  static constexpr std::size_t kMost = 256;

  std::uint32_t number_of(std::string_view model) {
    auto const found = std::find(names_.begin(), names_.end(), model);
    if (found != names_.end()) {
      return static_cast<std::uint32_t>(found - names_.begin());
    }
    if (names_.size() < kMost) {
      names_.emplace_back(names_.size() + 1 == kMost ? std::string_view("other") : model);
    }
    return static_cast<std::uint32_t>(names_.size() - 1);
  }
  /// Whether a request has named this model.
  bool knows(std::string_view model) const {
    return std::find(names_.begin(), names_.end(), model) != names_.end();
  }
  std::string const& name(std::uint32_t number) const { return names_[number]; }

 private:
  std::vector<std::string> names_;
};

}  // namespace lastcall::lifecycle
