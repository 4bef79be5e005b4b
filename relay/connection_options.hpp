// The options that the Connection fields of a head list, read in one pass into a sorted set.
//
// Rules:
//  1. The elements of all fields together are limited, empty ones too, and so is the length of
//     each: the list is walked once, and each of the up to 128 lookups that follow is a search
//     among 32 short names.
//  2. They are sorted once, when the last field was added, however many fields there are.
//  3. Names are compared without regard to case; each is converted to lower case once.
//
// Pure, no thread rule. Source: RFC 9110, sections 5.6.1 and 7.6.1.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "relay/inplace_vector.hpp"

namespace lastcall::relay {

class ConnectionOptions {
 public:
  static constexpr std::size_t kMost = 32;
  static constexpr std::size_t kLongest = 64;

  void clear() { all_.clear(); }
  /// Adds the value of one more field. Returns false if there are too many elements or one is too
  /// long.
  bool add(std::string_view list);
  /// Call it after the last field and before the first lookup.
  void sort();
  bool empty() const { return all_.empty(); }
  bool has(std::string_view name) const;

 private:
  struct Name {
    std::array<char, kLongest> text;
    std::size_t size = 0;
    std::string_view view() const { return {text.data(), size}; }
  };
  static Name lowered(std::string_view name);

  InplaceVector<Name, kMost> all_;  // sorted
};

}  // namespace lastcall::relay
