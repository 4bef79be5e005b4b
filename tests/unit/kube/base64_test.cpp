#include "supervisor/kube/base64.hpp"

#include <string>

#include <gtest/gtest.h>

namespace lastcall::kube {
namespace {

TEST(Base64, What_was_written_is_read) {
  for (std::string const& bytes : {std::string("a"), std::string("ab"), std::string("abc"),
                                   std::string("\0\xff\n", 3), std::string(1000, 'x')}) {
    EXPECT_EQ(bytes_of_base64(base64(bytes)), bytes);
  }
  EXPECT_EQ(base64("ab"), "YWI=");
  EXPECT_EQ(bytes_of_base64("YW\n I=\r\n"), "ab");
}

TEST(Base64, What_is_none_is_refused) {
  for (char const* text : {"", "\n", "====", "a", "ab!d", "YWI===="}) {
    EXPECT_EQ(bytes_of_base64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace lastcall::kube
