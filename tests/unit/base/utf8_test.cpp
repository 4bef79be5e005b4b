#include "base/utf8.hpp"

#include <gtest/gtest.h>

namespace lastcall::test {
namespace {

TEST(Utf8, Accepts_what_rfc_3629_allows_and_nothing_else) {
  for (auto const* const good : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                                 "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(utf8::is_valid(good)) << good;
  }
  for (auto const* const bad : {"\xff", "\xc3", "\xc0\xaf", "\xe0\x9f\xbf", "\xed\xa0\x80",
                                "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\x80", "a\xe2\x82"}) {
    EXPECT_FALSE(utf8::is_valid(bad)) << testing::PrintToString(bad);
  }
}

}  // namespace
}  // namespace lastcall::test
