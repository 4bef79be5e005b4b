// The server decides which peers it lets in: user id, hello, version, role, the observer's word.
#include <fcntl.h>
#include <sys/wait.h>

#include "tests/unit/ipc/server_fixture.hpp"

namespace lastcall::ipc::test {
namespace {

TEST_F(ServerTest, A_hello_is_welcomed_and_then_acked) {
  listen();
  RawClient client(options_.engine_socket);
  client.say(R"({"op":"hello","seq":5,"version":1,"role":"engine","name":"e","live":3})");
  EXPECT_TRUE(answer(client).starts_with(R"({"op":"welcome")"));
  EXPECT_EQ(answer(client), R"({"op":"ack","seq":5})");
  ASSERT_EQ(observer_.hellos.size(), 1U);
  EXPECT_EQ(observer_.hellos[0].live, 3U);
  PeerInfo const* const info = server_->info(observer_.peers[0]);
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(info->uid, ::geteuid());
  EXPECT_EQ(info->pid, ::getpid());
  EXPECT_EQ(info->name, "e");
  EXPECT_TRUE(info->connected);
}

TEST_F(ServerTest, Anything_before_hello_is_an_error_and_a_close) {
  listen();
  RawClient client(options_.engine_socket);
  client.say(R"({"op":"deregistered","seq":8})");
  Error const refused = error(client);
  EXPECT_EQ(refused.code, ErrorCode::not_allowed);
  EXPECT_EQ(refused.seq, 8U);
  EXPECT_TRUE(is_closed(client));
  EXPECT_TRUE(observer_.events.empty());
}

TEST_F(ServerTest, Even_a_harmless_error_before_hello_closes) {
  listen();
  RawClient client(options_.engine_socket);
  client.say(R"({"op":"hello","version":1,"role":"captain"})");
  EXPECT_EQ(error(client).code, ErrorCode::bad_field);
  EXPECT_TRUE(is_closed(client));
}

TEST_F(ServerTest, Another_version_is_refused_by_name) {
  listen();
  RawClient client(options_.engine_socket);
  client.say(R"({"op":"hello","seq":1,"version":2,"role":"engine"})");
  Error const refused = error(client);
  EXPECT_EQ(refused.code, ErrorCode::version);
  EXPECT_EQ(refused.seq, 1U);
  EXPECT_TRUE(is_closed(client));
}

TEST_F(ServerTest, An_operator_is_refused_on_the_engine_socket) {
  listen();
  RawClient client(options_.engine_socket);
  client.say(R"({"op":"hello","version":1,"role":"operator"})");
  EXPECT_EQ(error(client).code, ErrorCode::not_allowed);
  EXPECT_TRUE(is_closed(client));
  EXPECT_TRUE(observer_.hellos.empty());
}

TEST_F(ServerTest, Shim_and_engine_are_refused_on_the_admin_socket) {
  listen();
  for (std::string const role : {"shim", "engine"}) {
    RawClient client(options_.admin_socket);
    client.say(R"({"op":"hello","version":1,"boot":"b","role":")" + role + "\"}");
    EXPECT_EQ(error(client).code, ErrorCode::not_allowed);
    EXPECT_TRUE(is_closed(client));
  }
  EXPECT_TRUE(observer_.hellos.empty());
}

TEST_F(ServerTest, A_second_hello_is_an_error_and_the_peer_stays) {
  listen();
  RawClient client = engine();
  client.say(R"({"op":"hello","seq":2,"version":1,"role":"engine"})");
  EXPECT_EQ(error(client).code, ErrorCode::not_allowed);
  client.say(R"({"op":"deregistered"})");
  EXPECT_TRUE(until([&] { return observer_.messages == 1; }));
}

TEST_F(ServerTest, The_observer_can_refuse_a_second_shim) {
  listen();
  observer_.decide = [&](PeerId peer, Hello const& hello) {
    if (observer_.hellos.size() == 1) {
      return server_->welcome(peer, Welcome{});
    }
    server_->refuse(peer, ErrorCode::busy, "shim " + hello.shim->boot + " has to wait");
  };
  RawClient first(options_.engine_socket);
  first.say(R"({"op":"hello","version":1,"role":"shim","boot":"one"})");
  answer(first);
  RawClient second(options_.engine_socket);
  second.say(R"({"op":"hello","seq":6,"version":1,"role":"shim","boot":"two"})");
  Error const refused = error(second);
  EXPECT_EQ(refused.code, ErrorCode::busy);
  EXPECT_EQ(refused.seq, 6U);
  EXPECT_EQ(refused.message, "shim two has to wait");
  EXPECT_TRUE(is_closed(second));
  EXPECT_EQ(observer_.count("disconnected"), 0U) << "a refused peer is not reported again";
  EXPECT_EQ(server_->info(observer_.peers[1]), nullptr);
}

TEST_F(ServerTest, A_peer_that_the_observer_does_not_decide_about_is_refused_as_busy) {
  listen();
  observer_.decide = [](PeerId, Hello const&) {};
  RawClient client(options_.engine_socket);
  client.say(R"({"op":"hello","version":1,"role":"engine"})");
  EXPECT_EQ(error(client).code, ErrorCode::busy);
  EXPECT_TRUE(is_closed(client));
}

TEST_F(ServerTest, A_connection_that_sends_no_hello_ends) {
  options_.hello_timeout = std::chrono::milliseconds(30);
  listen();
  RawClient client(options_.engine_socket);
  EXPECT_EQ(error(client).code, ErrorCode::not_allowed);
  EXPECT_TRUE(is_closed(client));
}

TEST_F(ServerTest, A_hello_that_comes_byte_by_byte_gets_no_more_time) {
  options_.hello_timeout = std::chrono::milliseconds(100);
  listen();
  RawClient client(options_.engine_socket);
  std::string_view left = "{\"op\":\"hello\",\"version\":1,\"role\":\"engine\"}\n";
  auto next = std::chrono::steady_clock::now();
  EXPECT_TRUE(until([&] {
    if (auto const now = std::chrono::steady_clock::now(); now >= next && left.size() > 1) {
      next = now + std::chrono::milliseconds(10);
      left.remove_prefix(client.try_write(left.substr(0, 1)));
    }
    return client.has_line();
  })) << "no byte is missing but the last";
  EXPECT_EQ(error(client).code, ErrorCode::not_allowed);
  EXPECT_TRUE(is_closed(client));
  EXPECT_TRUE(observer_.hellos.empty());
}

/// Runs `body` in a child as another user; its exit status is what body returns.
template <typename Body>
pid_t as_uid(uid_t uid, Body body) {
  pid_t const child = ::fork();
  if (child == 0) {
    if (::setresuid(uid, uid, uid) != 0) {
      ::_exit(100);
    }
    ::_exit(body());
  }
  return child;
}

/// What a stranger reads after it has sent a hello; in a child, so without any assertion.
int hello_as_stranger(std::string const& path) {
  auto connected = connect_to(path);
  if (connected.index() != 0) {
    return 101;
  }
  int const fd = std::get<Descriptor>(connected).get();
  std::string const hello = "{\"op\":\"hello\",\"version\":1,\"role\":\"engine\"}\n";
  (void)::send(fd, hello.data(), hello.size(), MSG_NOSIGNAL);
  std::string received;
  char bytes[4096];
  for (ssize_t size = 0; received.find('\n') == std::string::npos;) {
    size = ::recv(fd, bytes, sizeof(bytes), 0);
    if (size <= 0) {
      return 102;
    }
    received.append(bytes, static_cast<std::size_t>(size));
  }
  return received.find("not_allowed") != std::string::npos ? 1
         : received.find("welcome") != std::string::npos   ? 2
                                                           : 103;
}

class StrangerTest : public ServerTest {
 protected:
  static constexpr uid_t kStranger = 61'234;

  int hello_as(uid_t uid, std::string const& path = "") {
    pid_t const child = as_uid(
        uid, [&] { return hello_as_stranger(path.empty() ? options_.engine_socket : path); });
    int status = 0;
    EXPECT_TRUE(until([&] { return ::waitpid(child, &status, WNOHANG) == child; }));
    return WEXITSTATUS(status);
  }

  void listen_to_all() {
    if (::geteuid() != 0) {
      GTEST_SKIP() << "only root can be another user";
    }
    options_.mode = 0666;
    listen();
    std::filesystem::permissions(directory_, std::filesystem::perms(0755));
    std::filesystem::permissions(directory_ + "/engine", std::filesystem::perms(0755));
  }
};

TEST_F(StrangerTest, Another_uid_is_refused_and_reported_once) {
  ASSERT_NO_FATAL_FAILURE(listen_to_all());
  if (IsSkipped()) {
    return;
  }
  EXPECT_EQ(hello_as(kStranger), 1);
  EXPECT_EQ(hello_as(kStranger), 1);
  EXPECT_TRUE(observer_.hellos.empty());
  ASSERT_EQ(observer_.troubles.size(), 1U);
  EXPECT_NE(observer_.troubles[0].find("uid 61234"), std::string::npos);
}

TEST_F(StrangerTest, A_uid_of_allow_uids_is_welcomed) {
  options_.allow_uids = {7, kStranger};
  ASSERT_NO_FATAL_FAILURE(listen_to_all());
  if (IsSkipped()) {
    return;
  }
  EXPECT_EQ(hello_as(kStranger), 2);
  ASSERT_EQ(observer_.hellos.size(), 1U);
}

TEST_F(StrangerTest, Any_uid_is_welcomed_where_all_are_allowed_but_not_as_an_operator) {
  options_.allow_any_uid = true;
  ASSERT_NO_FATAL_FAILURE(listen_to_all());
  if (IsSkipped()) {
    return;
  }
  EXPECT_EQ(hello_as(kStranger), 2);
  std::filesystem::permissions(directory_ + "/admin", std::filesystem::perms(0755));
  EXPECT_EQ(hello_as(kStranger, options_.admin_socket), 1);
}

}  // namespace
}  // namespace lastcall::ipc::test
