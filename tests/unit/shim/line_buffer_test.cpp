#include "shim/line_buffer.hpp"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace lastcall::shim {
namespace {

void add(LineBuffer& buffer, std::string_view bytes) {
  ASSERT_LE(bytes.size(), buffer.space_size());
  std::memcpy(buffer.space(), bytes.data(), bytes.size());
  buffer.added(bytes.size());
}

TEST(LineBuffer, Lines_come_whole_however_they_arrive) {
  auto const buffer = std::make_unique<LineBuffer>();
  for (char const c : std::string_view("one\ntwo\n\nthr")) {
    add(*buffer, std::string_view(&c, 1));
  }
  EXPECT_EQ(buffer->next_line(), "one");
  EXPECT_EQ(buffer->next_line(), "two");
  EXPECT_EQ(buffer->next_line(), "");
  EXPECT_EQ(buffer->next_line(), std::nullopt);
  buffer->compact();
  add(*buffer, "ee\n");
  EXPECT_EQ(buffer->next_line(), "three");
}

TEST(LineBuffer, Line_of_64_KiB_fits_and_a_longer_one_fills_it) {
  auto const buffer = std::make_unique<LineBuffer>();
  add(*buffer, std::string(kLongestLine, 'x') + "\n");
  EXPECT_EQ(buffer->next_line()->size(), kLongestLine);
  buffer->compact();
  EXPECT_FALSE(buffer->is_full());
  add(*buffer, std::string(kLongestLine + 1, 'x'));
  EXPECT_EQ(buffer->next_line(), std::nullopt);
  EXPECT_TRUE(buffer->is_full());
  buffer->clear();
  EXPECT_FALSE(buffer->is_full());
}

}  // namespace
}  // namespace lastcall::shim
