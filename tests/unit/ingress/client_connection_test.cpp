#include "ingress/client_connection.hpp"

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ingress/client_parts.hpp"
#include "tests/unit/ingress/no_observer.hpp"

namespace lastcall::ingress {
namespace {

using State = ClientConnection::State;

class NoMaker final : public RequestMaker {
 public:
  std::unique_ptr<ClientRequest> make(RequestClient const&, relay::TakenHead const&, bool,
                                      bool) override {
    return nullptr;
  }
};

/// Uses whole lines, as many as it is asked to.
class Lines final : public ConnectionOwner {
 public:
  explicit Lines(ClientParts& parts, Socket socket)
      : connection(parts, *this, std::move(socket), nullptr) {}

  void ready(std::uint32_t) override { connection.read_more(); }
  std::string_view kind() const override { return "lines"; }
  void expired(Wait) override {}
  bool wants_input() const override { return connection.state() != State::closed; }
  std::size_t use(std::span<char> bytes) override {
    std::string_view const text(bytes.data(), bytes.size());
    std::size_t const end = text.find('\n');
    if (most == 0 || end == std::string_view::npos) {
      return 0;
    }
    --most;
    used.append(text.substr(0, end + 1));
    return end + 1;
  }
  void kept() override { ++keeps; }
  void input_over(Io why) override {
    over = why;
    connection.close();
  }
  void lost() override { ++losses; }
  void written() override { ++flushes; }
  void close() override { connection.close(); }

  int most = 100;  // lines that it still uses
  std::string used;
  int keeps = 0, losses = 0, flushes = 0;
  Io over = Io::some;
  ClientConnection connection;
};

class ClientConnectionTest : public testing::Test {
 protected:
  ClientConnectionTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
    other = Socket(ends[1]);
    lines = std::make_unique<Lines>(parts, Socket(ends[0]));
  }

  void sent(std::string_view bytes) {
    EXPECT_EQ(write_some(other, bytes).size, bytes.size());
    lines->connection.socket().try_to_read();
  }
  std::string received() {
    std::string all;
    std::array<char, 4096> buffer{};
    while (true) {
      IoResult const got = read_some(other, buffer);
      if (got.io != Io::some) {
        ended = got.io == Io::ended;
        return all;
      }
      all.append(buffer.data(), got.size);
    }
  }

  boost::asio::io_context io;
  NoObserver observer;
  MemoryBudget memory{0};
  NoMaker maker;
  ClientParts parts{io, {}, observer, memory, maker};
  Socket other;
  std::unique_ptr<Lines> lines;
  bool ended = false;  // whether the last call of received() found the end
};

TEST_F(ClientConnectionTest, Bytes_that_are_not_used_are_kept_for_later) {
  lines->most = 1;
  sent("a\nb\nc");
  lines->connection.read_more();
  EXPECT_EQ(lines->used, "a\n");
  EXPECT_EQ(lines->connection.kept(), "b\nc");
  EXPECT_EQ(lines->keeps, 1);
  lines->most = 100;
  sent("c\n");
  lines->connection.read_kept();
  EXPECT_EQ(lines->used, "a\nb\ncc\n");
  EXPECT_TRUE(lines->connection.kept().empty());
  EXPECT_EQ(lines->keeps, 1);
}

TEST_F(ClientConnectionTest, Output_waits_for_a_client_that_is_slow_to_read) {
  std::string const piece(65536, 'x');
  std::size_t written = 0;
  while (lines->connection.is_flushed()) {
    lines->connection.write(piece);
    written += piece.size();
  }
  EXPECT_EQ(lines->flushes, 0);
  EXPECT_GT(lines->connection.unwritten().size(), 0U);
  std::size_t got = 0;
  while (!lines->connection.is_flushed()) {
    got += received().size();
    lines->connection.write_more();
  }
  got += received().size();
  EXPECT_EQ(got, written);
  EXPECT_EQ(lines->flushes, 1);
  EXPECT_EQ(lines->connection.unwritten().capacity(), 0U);
}

TEST_F(ClientConnectionTest, It_ends_once_everything_is_written) {
  std::string const piece(65536, 'x');
  while (lines->connection.is_flushed()) {
    lines->connection.write(piece);
  }
  lines->connection.end_once_written(relay::After::close);
  EXPECT_EQ(lines->connection.state(), State::ending);
  while (lines->connection.state() == State::ending) {
    received();
    lines->connection.write_more();
  }
  EXPECT_EQ(lines->connection.state(), State::closed);
  EXPECT_EQ(lines->flushes, 0);  // nothing follows, so its owner has nothing to do
  received();
  EXPECT_TRUE(ended);
}

TEST_F(ClientConnectionTest, It_lingers_while_its_client_sends) {
  sent("more");
  lines->connection.write("bye");
  lines->connection.end_once_written(relay::After::close);
  EXPECT_EQ(lines->connection.state(), State::lingering);
  EXPECT_EQ(received(), "bye");
  EXPECT_TRUE(ended);
  EXPECT_EQ(lines->used, "");  // what comes now is only read
  sent("and more\n");
  lines->connection.read_more();
  EXPECT_EQ(lines->connection.state(), State::lingering);
  other.close();
  lines->connection.socket().try_to_read();
  lines->connection.read_more();
  EXPECT_EQ(lines->over, Io::ended);
  EXPECT_EQ(lines->connection.state(), State::closed);
}

TEST_F(ClientConnectionTest, A_client_that_has_gone_is_reported_and_nothing_more_is_written) {
  other.close();
  lines->connection.write("hello");
  EXPECT_EQ(lines->losses, 1);
  lines->connection.close();
  lines->connection.write("hello");
  EXPECT_EQ(lines->losses, 1);
}

}  // namespace
}  // namespace lastcall::ingress
