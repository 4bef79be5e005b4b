#include "ingress/networks.hpp"

#include <gtest/gtest.h>

namespace lastcall::ingress {
namespace {

Networks const kSome({{.address = {10, 96}, .is_v6 = false, .bits = 12},
                      {.address = {192, 0, 2, 1}, .is_v6 = false, .bits = 32},
                      {.address = {0x20, 0x01, 0x0d, 0xb8, 0x80}, .is_v6 = true, .bits = 33}});

TEST(Networks, An_address_is_in_a_network_by_the_bits_of_the_prefix) {
  for (char const* const inside : {"10.96.0.0", "10.111.255.255", "192.0.2.1",
                                   "2001:db8:8000::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"}) {
    EXPECT_TRUE(kSome.contain(inside)) << inside;
  }
  for (char const* const outside : {"10.95.255.255", "10.112.0.0", "192.0.2.0", "192.0.2.3",
                                    "2001:db8:7fff::", "2001:db9:8000::", "::"}) {
    EXPECT_FALSE(kSome.contain(outside)) << outside;
  }
}

TEST(Networks, Text_that_is_no_address_is_in_no_network) {
  Networks const all(
      {{.address = {}, .is_v6 = false, .bits = 0}, {.address = {}, .is_v6 = true, .bits = 0}});
  for (char const* const none : {"", "engine", "10.0.0", "10.0.0.1:80", "[::1]", ":"}) {
    EXPECT_FALSE(all.contain(none)) << none;
  }
  EXPECT_TRUE(all.contain("203.0.113.7"));
  EXPECT_TRUE(all.contain("2001:db8::1"));
}

TEST(Networks, All_of_one_kind_is_nothing_of_the_other) {
  EXPECT_FALSE(Networks({{.address = {}, .is_v6 = true, .bits = 0}}).contain("10.0.0.1"));
  EXPECT_FALSE(Networks({{.address = {}, .is_v6 = false, .bits = 0}}).contain("::1"));
  EXPECT_FALSE(Networks().contain("10.0.0.1"));
}

}  // namespace
}  // namespace lastcall::ingress
