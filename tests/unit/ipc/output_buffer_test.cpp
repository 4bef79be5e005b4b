#include "ipc/output_buffer.hpp"

#include <string>

#include <gtest/gtest.h>

namespace lastcall::ipc {
namespace {

/// A ledger's list of cancels that is empty.
bool none(std::size_t, std::string&) {
  return false;
}

TEST(OutputBuffer, Lines_follow_in_their_order_once_those_before_them_were_written) {
  OutputBuffer buffer;
  EXPECT_TRUE(buffer.is_empty());
  buffer.waiting() += "one\n";
  EXPECT_EQ(buffer.next(none), "one\n");
  buffer.waiting() += "two\n";
  buffer.wrote(2);
  EXPECT_EQ(buffer.next(none), "e\n");
  EXPECT_EQ(buffer.other_waiting(), 6U);
  buffer.wrote(2);
  EXPECT_EQ(buffer.next(none), "two\n");
  buffer.wrote(4);
  EXPECT_EQ(buffer.next(none), "");
  EXPECT_TRUE(buffer.is_empty());
}

TEST(OutputBuffer, Cancels_are_made_only_when_nothing_before_them_waits) {
  OutputBuffer buffer;
  int asked = 0;
  auto const one = [&](std::size_t room, std::string& out) {
    ++asked;
    EXPECT_EQ(room, OutputBuffer::kCancelRoom - 5);
    out += "cancel\n";
    return false;
  };
  buffer.waiting() += "line\n";
  EXPECT_EQ(buffer.next(one), "line\n");
  buffer.cancels_ready();
  EXPECT_EQ(buffer.next(one), "line\n");
  EXPECT_EQ(asked, 0);
  buffer.wrote(5);
  buffer.waiting() += "more\n";
  EXPECT_EQ(buffer.next(one), "more\ncancel\n");
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(buffer.other_waiting(), 5U);
  buffer.wrote(6);
  EXPECT_EQ(buffer.other_waiting(), 0U);
  EXPECT_EQ(buffer.next(one), "ancel\n");
}

TEST(OutputBuffer, Cancels_that_are_left_are_asked_for_again) {
  OutputBuffer buffer;
  int left = 2;
  auto const some = [&](std::size_t, std::string& out) {
    out += "cancel\n";
    return --left > 0;
  };
  buffer.cancels_ready();
  while (!buffer.next(some).empty()) {
    buffer.wrote(7);
  }
  EXPECT_EQ(left, 0);
  EXPECT_TRUE(buffer.is_empty());
}

TEST(OutputBuffer, Many_lines_leave_no_room_for_cancels) {
  OutputBuffer buffer;
  buffer.cancels_ready();
  buffer.waiting().assign(OutputBuffer::kCancelRoom, 'x');
  auto const never = [](std::size_t, std::string&) {
    ADD_FAILURE();
    return false;
  };
  EXPECT_EQ(buffer.next(never).size(), OutputBuffer::kCancelRoom);
}

TEST(OutputBuffer, Nothing_is_left_after_clear) {
  OutputBuffer buffer;
  buffer.waiting() += "one\n";
  EXPECT_EQ(buffer.next(none), "one\n");
  buffer.waiting() += "two\n";
  buffer.cancels_ready();
  buffer.clear();
  EXPECT_TRUE(buffer.is_empty());
  EXPECT_EQ(buffer.other_waiting(), 0U);
}

}  // namespace
}  // namespace lastcall::ipc
