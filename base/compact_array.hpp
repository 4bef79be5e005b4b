// Elements that are kept for long and do not change: one pointer here, and one block of the heap
// that is no larger than it has to be. Where there are none, there is no block.
//
// Rule: they stay where they are as long as the array lives, also when it is moved.
// Values only, no thread rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

namespace lastcall {

template <class T>
class CompactArray {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint32_t));

 public:
  CompactArray() = default;
  /// `all`: less than 2^32.
  explicit CompactArray(std::span<T const> all) {
    if (!all.empty()) {
      auto const size = static_cast<Size>(all.size());
      block_ = std::make_unique_for_overwrite<T[]>(kHead + all.size());
      std::memcpy(block_.get(), &size, sizeof size);
      std::memcpy(block_.get() + kHead, all.data(), all.size_bytes());
    }
  }

  bool empty() const { return block_ == nullptr; }
  std::size_t size() const {
    Size size = 0;
    if (!empty()) {
      std::memcpy(&size, block_.get(), sizeof size);
    }
    return size;
  }
  std::span<T const> all() const {
    return empty() ? std::span<T const>() : std::span<T const>(block_.get() + kHead, size());
  }
  /// Bytes beside this object.
  std::size_t capacity() const { return empty() ? 0 : (kHead + size()) * sizeof(T); }

 private:
  using Size = std::uint32_t;
  static constexpr std::size_t kHead = sizeof(Size) / sizeof(T);

  std::unique_ptr<T[]> block_;  // its size, in place of the first elements, and then these
};

class CompactText : public CompactArray<char> {
 public:
  CompactText() = default;
  explicit CompactText(std::string_view text) : CompactArray(std::span(text)) {}

  std::string_view view() const { return {all().data(), size()}; }
};

}  // namespace lastcall
