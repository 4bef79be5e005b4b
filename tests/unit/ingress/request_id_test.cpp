#include "ingress/request_id.hpp"

#include <string>

#include <gtest/gtest.h>

namespace lastcall::ingress {
namespace {

TEST(RequestId, A_clients_id_is_kept_where_it_is_harmless) {
  EXPECT_TRUE(is_usable_id("req-1_ABC:9"));
  EXPECT_FALSE(is_usable_id(""));
  EXPECT_FALSE(is_usable_id("a b"));
  EXPECT_FALSE(is_usable_id("a\"b"));
  EXPECT_FALSE(is_usable_id(std::string(201, 'a')));
  RequestIds ids;
  std::string const first = ids.make();
  EXPECT_EQ(first.size(), 32U);
  for (int i = 0; i < 100; ++i) {
    EXPECT_NE(ids.make(), first);
  }
}

}  // namespace
}  // namespace lastcall::ingress
