#include "base/base64.hpp"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace lastcall::test {
namespace {

TEST(Base64, Has_the_vectors_of_rfc_4648) {
  std::pair<char const*, char const*> const vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (auto const& [plain, encoded] : vectors) {
    EXPECT_EQ(base64_encode(plain), encoded);
    EXPECT_EQ(base64_decode(encoded), plain);
  }
}

TEST(Base64, Refuses_what_is_none) {
  for (char const* text : {"Z", "Zg", "Zg=", "Z===", "====", "Zm9v!mFy", "Zg==Zg==", "Zm 9v"}) {
    EXPECT_FALSE(base64_decode(text)) << text;
  }
}

TEST(Base64, What_was_written_is_read) {
  for (std::string const& bytes : {std::string("\0\xff\n", 3), std::string(1000, 'x')}) {
    EXPECT_EQ(base64_decode(base64_encode(bytes)), bytes);
  }
}

}  // namespace
}  // namespace lastcall::test
