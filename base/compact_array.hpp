// An array of elements that are kept for a long time and do not change. The object is one pointer
// to one heap block, which is no larger than necessary; an empty array has no block.
//
// Rule: the elements keep their addresses as long as the array lives, even when it is moved.
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
  /// `all` has fewer than 2^32 elements.
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
  /// The bytes that are allocated in addition to this object.
  std::size_t capacity() const { return empty() ? 0 : (kHead + size()) * sizeof(T); }

 private:
  using Size = std::uint32_t;
  static constexpr std::size_t kHead = sizeof(Size) / sizeof(T);

  std::unique_ptr<T[]> block_;  // the size, in kHead elements' space, followed by the elements
};

class CompactText : public CompactArray<char> {
 public:
  CompactText() = default;
  explicit CompactText(std::string_view text) : CompactArray(std::span(text)) {}

  std::string_view view() const { return {all().data(), size()}; }
};

}  // namespace lastcall
