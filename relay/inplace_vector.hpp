// Room for a few values in place, like C++26's std::inplace_vector; heads are read into it.
//
// Rule: only the present values are ever written. Most heads have a dozen fields, and clearing the
// room for all 128 of them would cost more than reading the head does.
//
// Pure, no thread rule.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace lastcall::relay {

template <typename T, std::size_t kMost>
class InplaceVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  InplaceVector() {}  // with `= default` the union would be cleared

  /// Returns false if there is no room for another one.
  bool push_back(T const& value) {
    if (size_ == kMost) {
      return false;
    }
    std::construct_at(room_.data() + size_, value);
    ++size_;
    return true;
  }
  void clear() { size_ = 0; }
  bool empty() const { return size_ == 0; }
  T* begin() { return room_.data(); }
  T* end() { return room_.data() + size_; }
  T const* begin() const { return room_.data(); }
  T const* end() const { return room_.data() + size_; }

 private:
  union {
    std::array<T, kMost> room_;
  };
  std::size_t size_ = 0;
};

}  // namespace lastcall::relay
