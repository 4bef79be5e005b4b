// Turns the bytes of a fuzzer's input into the choices of a grammar, so that every input is a
// derivation of it and a small change of the input is a small change of what is derived. Bytes that
// have run out choose 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace lastcall::fuzz {

class Choices {
 public:
  Choices(std::uint8_t const* data, std::size_t size) : left_(data, size) {}

  bool empty() const { return left_.empty(); }
  /// Returns a number below `count`, which is 1 to 256.
  std::size_t below(std::size_t count) { return byte() % count; }
  bool one_in(std::size_t count) { return below(count) == 1; }
  template <typename Container>
  auto const& of(Container const& container) {
    return container[below(std::size(container))];
  }
  std::uint64_t number(std::uint64_t most) {
    std::uint64_t value = 0;
    for (std::size_t i = below(9); i > 0; --i) {
      value = value << 8 | byte();
    }
    return most == ~std::uint64_t{0} ? value : value % (most + 1);
  }
  std::uint8_t byte() {
    if (left_.empty()) {
      return 0;
    }
    std::uint8_t const first = left_.front();
    left_ = left_.subspan(1);
    return first;
  }

 private:
  std::span<std::uint8_t const> left_;
};

}  // namespace lastcall::fuzz
