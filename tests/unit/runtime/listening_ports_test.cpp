// The ports that are listened on, for people whose engine listens elsewhere.
#include "supervisor/runtime/host/listening_ports.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "ipc/unix_socket.hpp"

namespace lastcall::runtime {
namespace {

using Ports = std::set<std::uint16_t>;

TEST(ListeningPorts, Are_the_local_ones_of_rows_in_the_state_listen) {
  EXPECT_EQ(
      listening_ports_in("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n"
                         "   0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000\n"
                         "   1: 0100007F:C350 0100007F:1F40 01 00000000:00000000 00:00000000\n"
                         "  10: 00000000000000000000000000000000:1BB2 "
                         "00000000000000000000000000000000:0000 0A 00000000:00000000"),
      (Ports{8000, 7090}));
}

TEST(ListeningPorts, Are_none_in_what_is_no_such_file) {
  EXPECT_EQ(listening_ports_in(""), Ports{});
  EXPECT_EQ(listening_ports_in("\n\n  \n a b c 0A\n"), Ports{});
  EXPECT_EQ(listening_ports_in("0: 0100007F:XYZW 0:0 0A\n"), Ports{});
}

TEST(ListeningPorts, Has_one_that_is_listened_on_now) {
  Descriptor const listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  EXPECT_TRUE(listening_ports().contains(ntohs(address.sin_port)));
}

}  // namespace
}  // namespace lastcall::runtime
