#include "relay/request_reader.hpp"

#include <string_view>

#include <gtest/gtest.h>

namespace lastcall::relay {
namespace {

constexpr RequestReader::Limits kLimits{.head = 4096, .body = 100};

RequestReader::Found read(std::string_view bytes, TakenHead& taken) {
  return RequestReader().read(bytes, kLimits, taken);
}

/// One room serves all requests of a front, whatever the one before has left in it.
TEST(RequestReader, Nothing_of_an_earlier_head_is_left) {
  TakenHead taken;
  ASSERT_EQ(read("HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nExpect: 100-continue\r\n"
                 "Content-Length: 5\r\nX-One: 1\r\n\r\n",
                 taken),
            RequestReader::Found::complete);
  EXPECT_TRUE(taken.asked.is_head && taken.asked.expects_continue && !taken.asked.keeps_alive);

  ASSERT_EQ(read("GET /x HTTP/1.0\r\n\r\n", taken), RequestReader::Found::complete);
  EXPECT_EQ(taken.head.method, "GET");
  EXPECT_EQ(taken.destination.target, "/x");
  EXPECT_EQ(taken.destination.host, "");
  EXPECT_EQ(taken.head.fields.begin(), taken.head.fields.end());
  EXPECT_TRUE(taken.head.connection.empty());
  EXPECT_EQ(taken.framing.kind, Framing::Kind::none);
  EXPECT_FALSE(taken.asked.is_head || taken.asked.expects_continue);
}

TEST(RequestReader, Nor_is_it_where_the_next_one_is_refused) {
  TakenHead taken;
  ASSERT_EQ(read("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", taken), RequestReader::Found::complete);
  ASSERT_EQ(read("\x16\x03\x01", taken), RequestReader::Found::refused);
  EXPECT_EQ(taken.fault.status, 400U);
  EXPECT_FALSE(taken.asked.is_head);
  ASSERT_EQ(read("GET / HTTP/1.1\r\nHost: h\r\n\r\n", taken), RequestReader::Found::complete);
  EXPECT_EQ(taken.fault.status, 0U);
}

}  // namespace
}  // namespace lastcall::relay
