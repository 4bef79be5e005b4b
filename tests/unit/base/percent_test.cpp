#include "base/percent.hpp"

#include <string>

#include <gtest/gtest.h>

#include "base/ascii.hpp"

namespace lastcall::test {
namespace {

TEST(Percent, What_is_not_plain_is_encoded_and_read_back) {
  std::string const text("a-%2F\0\xc3\xa9", 8);
  std::string const encoded = percent_encoded(text, ascii::is_letter_or_digit);
  EXPECT_EQ(encoded, "a%2D%252F%00%C3%A9");
  EXPECT_EQ(percent_decoded(encoded), text);
}

TEST(Percent, A_percent_sign_without_two_digits_stays) {
  for (char const* text : {"%", "%4", "%4g", "%g4", "100%"}) {
    EXPECT_EQ(percent_decoded(text), text);
  }
  EXPECT_EQ(percent_decoded("%2f%2F"), "//");
}

}  // namespace
}  // namespace lastcall::test
