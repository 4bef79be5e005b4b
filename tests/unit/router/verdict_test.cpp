#include "router/verdict.hpp"

#include <string>

#include <gtest/gtest.h>

namespace lastcall::router {
namespace {

Verdict verdict(std::string const& status, std::string const& fields = "") {
  std::string const text = "HTTP/1.1 " + status + " x\r\n" + fields + "\r\n";
  relay::ResponseHead head;
  EXPECT_FALSE(relay::parse_response_head(text, head));
  return verdict_of(head);
}

std::string reason(std::string const& word, std::string const& may_be_repeated = "true") {
  return "X-Lastcall-Reason: " + word + "\r\nx-should-retry: " + may_be_repeated + "\r\n";
}

TEST(Verdict, Words_decide_where_there_are_some) {
  EXPECT_EQ(verdict("503", reason("draining")), Verdict::refused);
  EXPECT_EQ(verdict("429", reason("capacity")), Verdict::refused);
  EXPECT_EQ(verdict("503", reason("engine_dead")), Verdict::engine_died);
  EXPECT_EQ(verdict("503", reason("grace_timeout")), Verdict::refused_begun);
  EXPECT_EQ(verdict("504", reason("timeout")), Verdict::refused_begun);
  EXPECT_EQ(verdict("502", reason("engine_error", "false")), Verdict::refused_begun);
  EXPECT_EQ(verdict("403", reason("control_path", "false")), Verdict::answer);
}

TEST(Verdict, Else_the_status_does) {
  for (char const* const status : {"502", "503", "504", "529"}) {
    EXPECT_EQ(verdict(status), Verdict::failing) << status;
  }
  EXPECT_EQ(verdict("500"), Verdict::broke);
  for (char const* const status : {"200", "400", "404", "429", "501", "505"}) {
    EXPECT_EQ(verdict(status), Verdict::answer) << status;
  }
}

}  // namespace
}  // namespace lastcall::router
