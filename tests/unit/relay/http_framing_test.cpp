#include <string>

#include <gtest/gtest.h>

#include "relay/http_head.hpp"

namespace lastcall::relay {
namespace {

using Kind = Framing::Kind;

Framing framing_of(std::string_view text, std::string_view method = "POST") {
  ResponseHead head;
  Framing framing;
  EXPECT_FALSE(parse_response_head(text, head)) << text;
  EXPECT_FALSE(response_framing(head, method, framing)) << text;
  return framing;
}

TEST(ResponseFraming, Knows_how_long_a_body_is) {
  EXPECT_EQ(framing_of("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n").length, 5U);
  EXPECT_EQ(framing_of("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").kind, Kind::none);
  EXPECT_EQ(framing_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").kind,
            Kind::chunked);
  EXPECT_EQ(framing_of("HTTP/1.1 200 OK\r\n\r\n").kind, Kind::until_close);
  EXPECT_EQ(framing_of("HTTP/1.0 200\r\n\r\n").kind, Kind::until_close);
}

TEST(ResponseFraming, Some_answers_have_no_body_whatever_their_fields_are) {
  for (std::string_view const status : {"204 No Content", "304 Not Modified", "101 Switching"}) {
    std::string const head = "HTTP/1.1 " + std::string(status) + "\r\nContent-Length: 5\r\n\r\n";
    EXPECT_EQ(framing_of(head).kind, Kind::none) << status;
  }
  EXPECT_EQ(framing_of("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HEAD").kind, Kind::none);
}

TEST(ResponseFraming, Contradictory_framing_is_a_fault) {
  for (std::string_view const text :
       {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"}) {
    ResponseHead head;
    Framing framing;
    ASSERT_FALSE(parse_response_head(text, head));
    EXPECT_TRUE(response_framing(head, "GET", framing)) << text;
  }
}

TEST(ResponseHead, Status_lines_are_read_strictly) {
  ResponseHead head;
  EXPECT_FALSE(parse_response_head("HTTP/1.1 200 Fine, thanks\r\n\r\n", head));
  EXPECT_EQ(head.status, 200U);
  EXPECT_EQ(head.reason, "Fine, thanks");
  for (std::string_view const line : {"HTTP/1.1 20", "HTTP/1.1 2000", "HTTP/1.1  200", "ICY 200 OK",
                                      "HTTP/1.1 abc", "HTTP/2 200 OK", "HTTP/1.1 099 x"}) {
    EXPECT_TRUE(parse_response_head(std::string(line) + "\r\n\r\n", head)) << line;
  }
}

}  // namespace
}  // namespace lastcall::relay
