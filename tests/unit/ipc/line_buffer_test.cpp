#include "ipc/line_buffer.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace lastcall::ipc {
namespace {

/// Feeds `bytes` in reads of at most `step` and returns the lines that came out.
std::vector<std::string> feed(LineBuffer& buffer, std::string_view bytes, std::size_t step) {
  std::vector<std::string> lines;
  while (!bytes.empty() && !buffer.is_overflowing()) {
    std::span<char> const room = buffer.prepare();
    std::size_t const size = std::min({step, bytes.size(), room.size()});
    std::copy_n(bytes.begin(), size, room.begin());
    buffer.commit(size);
    bytes.remove_prefix(size);
    while (auto const line = buffer.next_line()) {
      lines.emplace_back(*line);
    }
  }
  return lines;
}

TEST(LineBuffer, Gives_the_same_lines_however_the_bytes_arrive) {
  std::string bytes;
  std::vector<std::string> expected;
  for (std::size_t i = 0; i < 400; ++i) {
    expected.emplace_back(i * 37 % 991, static_cast<char>('a' + i % 26));
    bytes += expected.back() + "\n";
  }
  for (std::size_t const step : {1U, 2U, 7U, 4096U, 70'000U}) {
    LineBuffer buffer;
    EXPECT_EQ(feed(buffer, bytes, step), expected) << step;
  }
}

TEST(LineBuffer, Holds_back_a_line_that_is_not_ended) {
  LineBuffer buffer;
  EXPECT_TRUE(feed(buffer, "half", 10).empty());
  EXPECT_EQ(feed(buffer, " and half\nrest", 10), std::vector<std::string>{"half and half"});
}

TEST(LineBuffer, Takes_the_longest_line_and_no_longer_one) {
  std::string const longest(kMaxLine, 'x');
  LineBuffer fits;
  EXPECT_EQ(feed(fits, "a\n" + longest + "\nb\n", 5'000),
            (std::vector<std::string>{"a", longest, "b"}));
  EXPECT_FALSE(fits.is_overflowing());
  LineBuffer overflows;
  EXPECT_EQ(feed(overflows, "a\n" + longest + "x\n", 5'000), std::vector<std::string>{"a"});
  EXPECT_TRUE(overflows.is_overflowing());
}

}  // namespace
}  // namespace lastcall::ipc
