#include "ingress/client.hpp"

#include <array>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "ingress/client_parts.hpp"
#include "tests/unit/ingress/no_observer.hpp"

namespace lastcall::ingress {
namespace {

class NoRequests final : public RequestMaker {
 public:
  std::unique_ptr<ClientRequest> make(RequestClient const&, relay::TakenHead const&, bool,
                                      bool) override {
    return nullptr;
  }
};

class Home final : public ClientOwner {
 public:
  void closed(Client&) override { ++left; }
  void shed_soon() override {}
  int left = 0;
};

class ClientTest : public testing::Test {
 protected:
  ClientTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
    other = Socket(ends[1]);
    Accepted accepted;
    accepted.socket = Socket(ends[0]);
    client = std::make_unique<Client>(parts, home, std::move(accepted));
  }

  std::string received() {
    std::array<char, 4096> buffer{};
    IoResult const got = read_some(other, buffer);
    return got.io == Io::some ? std::string(buffer.data(), got.size) : std::string();
  }

  boost::asio::io_context io;
  NoObserver observer;
  MemoryBudget memory{0};
  NoRequests maker;
  Home home;
  ClientParts parts{io, {}, observer, memory, maker};
  Socket other;
  std::unique_ptr<Client> client;
};

TEST_F(ClientTest, One_that_is_refused_while_it_sends_is_awaited_until_it_has_read_that) {
  client->refuse(relay::too_many_connections());
  EXPECT_TRUE(received().starts_with("HTTP/1.1 503 "));
  EXPECT_EQ(write_some(other, "the rest of its body").io, Io::some);
  client->ready(EPOLLIN);
  EXPECT_FALSE(client->is_flushed());
  other.close();
  client->ready(EPOLLIN | EPOLLRDHUP);
  EXPECT_TRUE(client->is_flushed());
  EXPECT_EQ(home.left, 1);
}

TEST_F(ClientTest, One_without_a_request_is_not_awaited_once_it_was_parted_from) {
  EXPECT_FALSE(client->is_flushed());
  client->expired(Wait::parting);
  EXPECT_EQ(received(), "");
  EXPECT_TRUE(client->is_flushed());
}

}  // namespace
}  // namespace lastcall::ingress
