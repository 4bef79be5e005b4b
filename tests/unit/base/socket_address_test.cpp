#include "base/socket_address.hpp"

#include <cstring>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <netinet/in.h>

#include "base/resolve.hpp"

namespace lastcall::test {
namespace {

std::string path_in(SocketAddress const& address) {
  sockaddr_un found;
  std::memcpy(&found, &address.address, sizeof found);
  return {found.sun_path, ::strnlen(found.sun_path, sizeof found.sun_path)};
}

TEST(SocketAddress, A_unix_socket_has_its_path) {
  std::string const longest(kLongestSocketPath, 'x');
  for (std::string const& path : {std::string("/run/a.sock"), longest}) {
    SocketAddress const address = unix_address(path);
    EXPECT_EQ(address.family(), AF_UNIX);
    EXPECT_EQ(address.size, sizeof(sockaddr_un));
    EXPECT_EQ(path_in(address), path);
  }
  EXPECT_EQ(path_in(unix_address(longest + "y")), longest);
}

TEST(SocketAddress, Only_a_numeric_address_is_read_without_a_lookup) {
  std::optional<SocketAddress> const v4 = numeric_address("127.0.0.1", 7090);
  ASSERT_TRUE(v4);
  EXPECT_EQ(v4->family(), AF_INET);
  sockaddr_in found;
  std::memcpy(&found, &v4->address, sizeof found);
  EXPECT_EQ(ntohs(found.sin_port), 7090);
  EXPECT_EQ(numeric_address("::1", 1)->family(), AF_INET6);
  for (char const* name : {"localhost", "a.example", "1.2.3.4.5", "127.1", "0"}) {
    EXPECT_FALSE(numeric_address(name, 1)) << name;
  }
}

}  // namespace
}  // namespace lastcall::test
