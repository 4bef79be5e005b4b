// A server in a private directory, an observer that records what it receives, and raw clients.
//
// Rule: nothing waits for a fixed time; until() runs the loop until a condition holds or ten
// seconds are over.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ipc/codec.hpp"
#include "ipc/server.hpp"
#include "ipc/unix_socket.hpp"

namespace lastcall::ipc::test {

struct Heard {
  PeerId peer{};
  ToSupervisor message;
  Seq seq;
};

/// Welcomes every peer unless `decide` decides otherwise, and keeps what it receives.
class Recorder : public Observer {
 public:
  explicit Recorder(std::unique_ptr<Server>& server) : server_(server) {}

  void hello(PeerId peer, Hello&& hello) override {
    hellos.push_back(hello);
    peers.push_back(peer);
    events.push_back("hello " + hello.name);
    if (decide) {
      return decide(peer, hello);
    }
    server_->welcome(peer, Welcome{});
  }
  void message(PeerId peer, ToSupervisor&& message, Seq seq) override {
    events.push_back("message " + std::string(op_of(message)));
    ++messages;
    if (on_message) {
      on_message(peer, message, seq);
    }
    last = Heard{peer, std::move(message), seq};
  }
  void disconnected(PeerId, std::string_view why) override {
    events.push_back("disconnected");
    reason = why;
  }
  void process_gone(PeerId) override { events.push_back("process_gone"); }
  std::size_t next_cancels(PeerId peer, CancelBatch& batch) override {
    EXPECT_TRUE(batch.ids.empty());
    auto& left = cancels[peer];
    batch.mode = CancelMode::stop;
    batch.reason = CancelReason::grace_timeout;
    while (!left.empty() && batch.ids.size() < kMaxBatch) {
      batch.ids.push_back(std::move(left.front()));
      left.pop_front();
    }
    return batch.ids.size();
  }
  void trouble(std::string_view what) override { troubles.emplace_back(what); }
  void error_sent(ErrorCode code) override { ++errors[code]; }
  void peer_dropped(Drop why) override { ++drops[why]; }

  std::size_t count(std::string_view event) const {
    return static_cast<std::size_t>(std::count(events.begin(), events.end(), event));
  }

  std::function<void(PeerId, Hello const&)> decide;
  std::function<void(PeerId, ToSupervisor const&, Seq)> on_message;
  std::vector<Hello> hellos;
  std::vector<PeerId> peers;
  std::vector<std::string> events;
  std::vector<std::string> troubles;
  std::string reason;
  std::size_t messages{};
  Heard last;
  std::map<PeerId, std::deque<std::string>> cancels;
  std::map<ErrorCode, int> errors;
  std::map<Drop, int> drops;

 private:
  std::unique_ptr<Server>& server_;
};

/// A connection that knows nothing of the protocol.
class RawClient {
 public:
  explicit RawClient(std::string const& path) {
    auto connected = connect_to(path);
    EXPECT_EQ(connected.index(), 0U) << std::get<std::string>(connected);
    if (connected.index() == 0) {
      fd_ = std::move(std::get<Descriptor>(connected));
    }
  }

  int fd() const { return fd_.get(); }
  void close() { fd_ = Descriptor(); }
  void end_sending() { ::shutdown(fd_.get(), SHUT_WR); }

  /// How much the kernel took; the rest is the caller's.
  std::size_t try_write(std::string_view bytes) {
    ssize_t const size = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    return size > 0 ? static_cast<std::size_t>(size) : 0;
  }
  void write(std::string_view bytes) { EXPECT_EQ(try_write(bytes), bytes.size()); }
  void say(std::string_view line) { write(std::string(line) + "\n"); }

  /// Takes in what is there; true at the end of the stream.
  bool take(std::size_t most = 1 << 20) {
    std::vector<char> bytes(std::min<std::size_t>(most, 65'536));
    for (std::size_t total = 0; total < most && !at_end_;) {
      ssize_t const size = ::recv(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
        break;
      }
      at_end_ = size <= 0;
      if (size > 0) {
        received_.append(bytes.data(), static_cast<std::size_t>(size));
        total += static_cast<std::size_t>(size);
      }
    }
    return at_end_;
  }
  bool has_taken_line() const { return received_.find('\n') != std::string::npos; }
  bool has_line() {
    take();
    return has_taken_line();
  }
  std::string line() {
    std::size_t const end = received_.find('\n');
    std::string const found = received_.substr(0, end);
    received_.erase(0, end == std::string::npos ? end : end + 1);
    return found;
  }

 private:
  Descriptor fd_;
  std::string received_;
  bool at_end_{};
};

class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    char path[] = "/tmp/lastcall-ipc-XXXXXX";
    directory_ = ::mkdtemp(path);
    options_.engine_socket = directory_ + "/engine/e.sock";
    options_.admin_socket = directory_ + "/admin/a.sock";
  }
  ~ServerTest() override {
    server_.reset();
    std::filesystem::remove_all(directory_);
  }

  std::optional<std::string> try_listen() {
    server_ = std::make_unique<Server>(io_, options_, observer_);
    return server_->listen();
  }
  void listen() {
    auto const problem = try_listen();
    ASSERT_FALSE(problem) << *problem;
  }

  template <typename Condition>
  bool until(Condition condition) {
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) {
        return false;
      }
      io_.restart();
      io_.run_one_for(std::chrono::milliseconds(5));
    }
    return true;
  }

  std::string answer(RawClient& client) {
    EXPECT_TRUE(until([&] { return client.has_line(); })) << "no answer came";
    return client.line();
  }
  Error error(RawClient& client) {
    std::string const line = answer(client);
    auto const decoded = decode_from_supervisor(line);
    EXPECT_EQ(decoded.index(), 0U) << line;
    auto const* const found = std::get_if<Error>(&std::get<0>(decoded).message);
    EXPECT_NE(found, nullptr) << line;
    return found == nullptr ? Error{} : *found;
  }
  bool is_closed(RawClient& client) {
    return until([&] { return client.take(); });
  }

  RawClient engine() {
    RawClient client(options_.engine_socket);
    client.say(R"({"op":"hello","version":1,"role":"engine","name":"e"})");
    EXPECT_TRUE(answer(client).starts_with(R"({"op":"welcome","version":1)"));
    return client;
  }

  std::string directory_;
  boost::asio::io_context io_{1};
  ServerOptions options_;
  std::unique_ptr<Server> server_;
  Recorder observer_{server_};
};

}  // namespace lastcall::ipc::test
