#include "router/leg_head.hpp"

#include <gtest/gtest.h>

namespace lastcall::router {
namespace {

constexpr std::string_view kLines = "POST /v1/completions HTTP/1.1\r\nHost: h\r\nA: b\r\n";
constexpr std::string_view kOfClient =
    "X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Host: h\r\nX-Forwarded-Proto: https\r\n"
    "Forwarded: for=1.2.3.4;host=\"h\";proto=https\r\n";

LegHead head(std::string_view parent = "") {
  LegHead made("id");
  made.set(std::string(kLines), parent);
  return made;
}

std::optional<relay::Sender> sender(LegHead const& head) {
  return relay::Sender{.host = head.host(), .client = "1.2.3.4", .scheme = "https"};
}

TEST(LegHead, Has_the_parts_of_the_request) {
  EXPECT_EQ(LegHead("id").id(), "id");
  LegHead const made = head("above");
  EXPECT_EQ(made.id(), "id");
  EXPECT_EQ(made.line(), "POST /v1/completions HTTP/1.1");
  EXPECT_EQ(made.host(), "h");
}

TEST(LegHead, Each_leg_describes_the_client_and_has_an_id_of_its_own) {
  LegHead const made = head();
  EXPECT_EQ(made.of_leg({}, sender(made)),
            std::string(kLines).append(kOfClient).append(
                "X-Request-Id: id\r\nX-Lastcall-Parent: router/id\r\n"));
  EXPECT_EQ(made.of_leg({.suffix = "-m1", .is_recorded = true, .goes_on = true}, sender(made)),
            std::string(kLines).append(kOfClient).append(
                "X-Request-Id: id-m1\r\nX-Lastcall-Parent: router/id\r\n"
                "X-Lastcall-Router: 1\r\nPriority: u=0\r\n"));
}

TEST(LegHead, The_lines_of_a_proxy_and_of_a_parent_stay_as_they_came) {
  EXPECT_EQ(head("above").of_leg({}, std::nullopt),
            std::string(kLines).append("X-Request-Id: id\r\nX-Lastcall-Parent: above\r\n"));
}

TEST(LegHead, A_request_without_a_host_has_an_empty_one) {
  LegHead made("id");
  made.set("GET / HTTP/1.1\r\nHost: \r\n", "");
  EXPECT_EQ(made.host(), "");
}

}  // namespace
}  // namespace lastcall::router
