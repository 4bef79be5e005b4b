#include "relay/event_scanner.hpp"

#include <string>

#include <gtest/gtest.h>

namespace lastcall::relay {
namespace {

TEST(EventScanner, Counts_events_and_finds_the_last_boundary) {
  for (std::string_view const newline : {"\n", "\r\n", "\r"}) {
    std::string const n(newline);
    std::string const two = "data: a" + n + n + "event: b" + n + "data: c" + n + n;
    EventScanner scanner;
    EXPECT_EQ(scanner.scan(two + "data: half").boundary, two.size()) << n.size();
    EXPECT_EQ(scanner.events(), 2U);
    EXPECT_EQ(scanner.scan(" more").boundary, 0U);
    EXPECT_EQ(scanner.scan(n).boundary, 0U);
  }
}

TEST(EventScanner, Any_split_gives_the_same_boundaries) {
  std::string const text = ": hi\r\n\r\ndata: a\r\n\r\ndata: b\n\n:x\ndata: c\r\rdata: d";
  for (std::size_t step = 1; step < text.size(); ++step) {
    EventScanner scanner;
    std::size_t boundary = 0;
    for (std::size_t at = 0; at < text.size(); at += step) {
      std::size_t const found = scanner.scan(std::string_view(text).substr(at, step)).boundary;
      boundary = found > 0 ? at + found : boundary;
    }
    EXPECT_EQ(boundary, text.size() - 7) << step;
    EXPECT_EQ(scanner.events(), 3U) << step;
  }
}

TEST(EventScanner, Knows_whether_the_last_line_is_whole) {
  EventScanner scanner;
  EXPECT_TRUE(scanner.is_at_line());
  scanner.scan("data: a");
  EXPECT_FALSE(scanner.is_at_line());
  scanner.scan("\r");
  EXPECT_TRUE(scanner.is_at_line());
  scanner.scan("\n\n:");
  EXPECT_FALSE(scanner.is_at_line());
}

TEST(EventScanner, A_comment_between_events_is_not_held_back_and_is_no_event) {
  EventScanner scanner;
  EXPECT_EQ(scanner.scan(": ping\n").boundary, 7U);
  EXPECT_EQ(scanner.scan("data: x\n: inside\n").boundary, 0U);
  EXPECT_EQ(scanner.scan("\n").boundary, 1U);
  EXPECT_EQ(scanner.scan("\n\n").boundary, 2U);
  EXPECT_EQ(scanner.events(), 1U);
}

TEST(EventScanner, Finds_the_event_that_may_report_an_error) {
  std::string const error = "data: {\"error\":{}}\n\n";
  EventScanner scanner;
  EXPECT_FALSE(scanner.scan("data: {\"id\":1}\n\n: {\"error\"\n\ndata: x {\"error\"\n\n").suspect);
  std::string const text = "data: a\n\n" + error + "data: [DONE]\n\n" + error;
  EventScanner::Found const found = scanner.scan(text);
  EXPECT_EQ(found.boundary, text.size());
  ASSERT_TRUE(found.suspect);
  EXPECT_EQ(found.suspect->begin, 9U);
  EXPECT_EQ(found.suspect->end, 9U + error.size());
  EXPECT_EQ(found.suspect->before, 3U);
  EXPECT_EQ(scanner.events(), 6U);
  EXPECT_FALSE(scanner.scan("data: b\n\n").suspect) << "only of the last bytes";
}

TEST(EventScanner, Finds_an_error_in_each_way_to_write_it_and_however_it_is_split) {
  for (std::string const text : {
           "data:{\"error\": 1}\n\n",
           "data: { \"error\" : 1}\r\n\r\n",
           "id: 7\ndata: {\"error\":1}\r\r",
           "event: error\ndata: {\"type\":\"error\"}\n\n",
           "event:error\r\ndata: x\r\n\r\n",
       }) {
    for (std::size_t step = 1; step <= text.size(); ++step) {
      EventScanner scanner;
      std::size_t found = 0;
      for (std::size_t at = 0; at < text.size(); at += step) {
        found += scanner.scan(std::string_view(text).substr(at, step)).suspect ? 1 : 0;
      }
      EXPECT_EQ(found, 1U) << text << step;
    }
  }
  for (std::string const text : {
           "event: errors\ndata: x\n\n",
           "data: {\"errors\":1}\n\n",
           "data: \"error\"\n\n",
           "data: {\"object\":\"x\",\"error\":null}\n\n",
       }) {
    EventScanner scanner;
    EXPECT_FALSE(scanner.scan(text).suspect) << text;
  }
}

}  // namespace
}  // namespace lastcall::relay
