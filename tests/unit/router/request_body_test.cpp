#include "router/request_body.hpp"

#include <string>

#include <gtest/gtest.h>

namespace lastcall::router {
namespace {

using namespace std::chrono_literals;
using Kind = relay::Framing::Kind;

/// Fed in pieces of `step` bytes; what is left after the body.
std::string feed(RequestBody& body, std::string wire, std::size_t step) {
  std::size_t at = 0;
  while (at < wire.size() && body.takes_more()) {
    std::size_t const size = std::min(step, wire.size() - at);
    RequestBody::Taken const taken =
        body.take(std::span(wire).subspan(at, size), 0ms, {.size = 100, .silence = 1s});
    EXPECT_FALSE(taken.fault);
    at += taken.used;
  }
  return wire.substr(at);
}

TEST(RequestBody, Any_split_gives_the_same_body) {
  std::string const chunks = "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrailer: t\r\n\r\nGET";
  for (std::size_t step = 1; step <= chunks.size(); ++step) {
    RequestBody chunked({Kind::chunked, 0});
    EXPECT_EQ(feed(chunked, chunks, step), "GET");
    EXPECT_TRUE(chunked.is_whole());
    EXPECT_EQ(chunked.text(), "abcde");
    RequestBody sized({Kind::length, 5});
    EXPECT_EQ(feed(sized, "abcdeGET", step), "GET");
    EXPECT_TRUE(sized.is_whole());
    EXPECT_EQ(sized.text(), "abcde");
  }
  EXPECT_TRUE(RequestBody({Kind::none, 0}).is_whole());
}

unsigned fault_of(std::string wire, RequestBody::Limits limits, RequestBody::Time late = 0ms) {
  RequestBody body({Kind::chunked, 0});
  body.await(0ms);
  RequestBody::Taken const taken = body.take(std::span(wire), late, limits);
  EXPECT_EQ(body.takes_more(), !taken.fault && !body.is_whole());
  return taken.fault.status;
}

TEST(RequestBody, Malformed_large_or_slow_bodies_are_refused) {
  EXPECT_EQ(fault_of("x\r\n", {.size = 9}), 400U);
  EXPECT_EQ(fault_of("3\r\nabc\r\n", {.size = 2}), 413U);
  EXPECT_EQ(fault_of("3\r\nabc\r\n", {.size = 3}), 0U);
  EXPECT_EQ(fault_of("3\r\nabc\r\n", {.size = 9, .silence = 1s}, 2s), 408U);
}

}  // namespace
}  // namespace lastcall::router
