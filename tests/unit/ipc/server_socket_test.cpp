// Files and directories of the sockets.
#include <fstream>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/ipc/server_fixture.hpp"

namespace lastcall::ipc::test {
namespace {

mode_t mode_of(std::string const& path) {
  struct stat file {};
  EXPECT_EQ(::stat(path.c_str(), &file), 0) << path;
  return file.st_mode & 07777;
}

TEST_F(ServerTest, Missing_directories_are_made_setgid_and_the_socket_gets_its_mode) {
  options_.engine_socket = directory_ + "/a/b/e.sock";
  mode_t const before = ::umask(077);
  listen();
  ::umask(before);
  EXPECT_EQ(mode_of(directory_ + "/a/b"), 02770U);
  EXPECT_EQ(mode_of(options_.engine_socket), 0660U);
  EXPECT_EQ(mode_of(options_.admin_socket), 0660U);
}

TEST_F(ServerTest, A_directory_that_holds_the_other_sockets_directory_is_made_setgid_too) {
  options_.engine_socket = directory_ + "/a/e.sock";
  options_.admin_socket = directory_ + "/a/admin/admin.sock";
  listen();
  EXPECT_EQ(mode_of(directory_ + "/a"), 02770U);
  EXPECT_EQ(mode_of(directory_ + "/a/admin"), 02770U);
}

TEST_F(ServerTest, A_directory_that_exists_keeps_its_mode) {
  std::filesystem::create_directory(directory_ + "/engine");
  std::filesystem::permissions(directory_ + "/engine", std::filesystem::perms(0755));
  listen();
  EXPECT_EQ(mode_of(directory_ + "/engine"), 0755U);
}

TEST_F(ServerTest, A_stale_socket_is_replaced) {
  listen();
  int const kept = ::open(options_.engine_socket.c_str(), O_PATH | O_CLOEXEC);
  std::string const copy = directory_ + "/stale.sock";
  ASSERT_EQ(::link(options_.engine_socket.c_str(), copy.c_str()), 0);
  server_.reset();
  ::close(kept);
  std::filesystem::rename(copy, options_.engine_socket);
  listen();
  engine();
}

TEST_F(ServerTest, A_live_socket_is_refused_and_stays_usable) {
  listen();
  std::filesystem::permissions(directory_ + "/engine", std::filesystem::perms(02777));
  ServerOptions others = options_;
  others.admin_socket = directory_ + "/others/a.sock";
  Recorder other_observer(server_);
  Server other(io_, others, other_observer);
  auto const problem = other.listen();
  ASSERT_TRUE(problem);
  EXPECT_EQ(*problem, "cannot listen on " + options_.engine_socket +
                          ": another process listens there; is lastcall running already?");
  EXPECT_FALSE(std::filesystem::exists(others.admin_socket)) << "it is given back";
  engine();
}

TEST_F(ServerTest, When_the_admin_socket_is_live_no_engine_socket_is_made) {
  listen();
  ServerOptions options = options_;
  options.engine_socket = directory_ + "/second.sock";
  Server other(io_, options, observer_);
  EXPECT_TRUE(other.listen());
  EXPECT_FALSE(std::filesystem::exists(options.engine_socket));
}

TEST_F(ServerTest, A_file_that_is_no_socket_is_not_removed) {
  std::filesystem::create_directory(directory_ + "/engine");
  std::ofstream(options_.engine_socket) << "precious";
  auto const problem = try_listen();
  ASSERT_TRUE(problem);
  EXPECT_NE(problem->find("not a socket"), std::string::npos) << *problem;
  EXPECT_TRUE(std::filesystem::exists(options_.engine_socket));
}

/// A directory into which engines may write, as a volume is that is mounted into their container.
class SquatterTest : public ServerTest {
 protected:
  SquatterTest() {
    std::filesystem::create_directory(shared_);
    std::filesystem::permissions(shared_, std::filesystem::perms(02777));
  }

  int socket_at_its_name(int type) {
    int const fd = ::socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    options_.engine_socket.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    if (type == SOCK_STREAM) {
      EXPECT_EQ(::listen(fd, 1), 0);
    }
    return fd;
  }

  void is_cleared_away(std::string const& reported) {
    listen();
    ASSERT_EQ(observer_.troubles.size(), 1U);
    EXPECT_TRUE(observer_.troubles[0].starts_with(reported)) << observer_.troubles[0];
    engine();
  }

  std::string aside() const {
    for (auto const& each : std::filesystem::directory_iterator(shared_)) {
      if (each.path().string().starts_with(options_.engine_socket + ".aside-")) {
        return each.path().string();
      }
    }
    return {};
  }

  std::string const shared_ = directory_ + "/engine";
  std::string const own_uid_ = std::to_string(::geteuid());
};

TEST_F(SquatterTest, A_file_at_the_sockets_name_is_moved_aside) {
  std::ofstream(options_.engine_socket) << "precious";
  is_cleared_away("moved a file of uid " + own_uid_ + " that was at " + options_.engine_socket);
  std::string text;
  std::ifstream(aside()) >> text;
  EXPECT_EQ(text, "precious");
}

TEST_F(SquatterTest, A_directory_that_holds_something_is_moved_aside) {
  std::filesystem::create_directories(options_.engine_socket + "/deep");
  is_cleared_away("moved a directory of uid " + own_uid_);
  EXPECT_TRUE(std::filesystem::exists(aside() + "/deep"));
}

TEST_F(SquatterTest, A_link_is_removed_and_not_followed) {
  std::string const there = directory_ + "/there";
  std::ofstream(there) << "precious";
  std::filesystem::permissions(there, std::filesystem::perms(0600));
  std::filesystem::create_symlink(there, options_.engine_socket);
  is_cleared_away("removed a link of uid " + own_uid_);
  EXPECT_EQ(mode_of(there), 0600U);
  EXPECT_FALSE(std::filesystem::is_socket(there));
}

TEST_F(SquatterTest, A_pipe_and_a_socket_that_is_no_stream_are_removed) {
  ASSERT_EQ(::mkfifo(options_.engine_socket.c_str(), 0666), 0);
  is_cleared_away("removed a pipe of uid " + own_uid_);
  server_.reset();
  observer_.troubles.clear();
  Descriptor const other(socket_at_its_name(SOCK_DGRAM));
  is_cleared_away("removed a socket of uid " + own_uid_);
}

TEST_F(SquatterTest, A_listener_of_another_user_is_removed) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can give a file away";
  }
  Descriptor const other(socket_at_its_name(SOCK_STREAM));
  ASSERT_EQ(::chown(options_.engine_socket.c_str(), 61'234, 61'234), 0);
  is_cleared_away("removed a socket of uid 61234");
}

TEST_F(SquatterTest, A_listener_of_the_same_user_may_be_another_lastcall_and_stays) {
  Descriptor const other(socket_at_its_name(SOCK_STREAM));
  auto const problem = try_listen();
  ASSERT_TRUE(problem);
  EXPECT_NE(problem->find("another process listens there"), std::string::npos) << *problem;
}

TEST_F(SquatterTest, At_the_admin_sockets_name_nothing_is_cleared) {
  std::filesystem::create_directory(directory_ + "/admin");
  std::filesystem::permissions(directory_ + "/admin", std::filesystem::perms(02777));
  std::ofstream(options_.admin_socket) << "precious";
  auto const problem = try_listen();
  ASSERT_TRUE(problem);
  EXPECT_NE(problem->find("not a socket"), std::string::npos) << *problem;
}

/// Puts a link in the place of each socket that it sees at `path`, as an engine may.
pid_t swapper(std::string const& path, std::string const& link_to) {
  pid_t const child = ::fork();
  if (child == 0) {
    std::string const link = path + ".link";
    for (struct stat file{};;) {
      if (::lstat(path.c_str(), &file) == 0 && S_ISSOCK(file.st_mode)) {
        (void)::symlink(link_to.c_str(), link.c_str());
        (void)::rename(link.c_str(), path.c_str());
      }
    }
  }
  return child;
}

TEST_F(SquatterTest, A_link_that_is_swapped_in_gives_no_other_file_the_sockets_mode) {
  std::string const there = directory_ + "/there";
  std::ofstream(there) << "secret";
  std::filesystem::permissions(there, std::filesystem::perms(0600));
  mode_t const before = ::umask(077);  // which takes something of the mode, to be given back
  pid_t const engine = swapper(options_.engine_socket, there);
  mode_t seen = 0600;
  for (int i = 0; i < 3'000 && seen == 0600; ++i) {
    (void)listen_on(options_.engine_socket, 0666, Squatters::cleared);
    seen = mode_of(there);
    ::unlink(options_.engine_socket.c_str());
  }
  ::kill(engine, SIGKILL);
  ::waitpid(engine, nullptr, 0);
  ::umask(before);
  EXPECT_EQ(seen, 0600U);
}

TEST_F(ServerTest, A_path_of_108_bytes_is_a_clear_error) {
  options_.engine_socket = directory_ + "/";
  options_.engine_socket.append(107 - options_.engine_socket.size(), 'x');
  listen();
  options_.engine_socket += "x";
  auto const problem = try_listen();
  ASSERT_TRUE(problem);
  EXPECT_NE(problem->find("the path has 108 bytes, a Unix socket's has at most 107"),
            std::string::npos)
      << *problem;
}

TEST_F(ServerTest, The_file_of_a_successor_is_not_removed) {
  listen();
  std::filesystem::remove(options_.engine_socket);
  std::filesystem::remove(options_.admin_socket);
  auto predecessor = std::move(server_);
  listen();
  predecessor.reset();
  engine();
}

TEST_F(ServerTest, Without_free_descriptors_it_rests_complains_once_and_goes_on) {
#if defined(__has_feature)
#if __has_feature(undefined_behavior_sanitizer)
  GTEST_SKIP() << "UBSan opens a pipe to look at a vptr: without descriptors it reports every call";
#endif
#endif
  listen();
  std::vector<Descriptor> hoard;
  RawClient client(options_.engine_socket);
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit const few{64, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &few);
  for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) {
    hoard.emplace_back(fd);
  }
  EXPECT_TRUE(until([&] { return !observer_.troubles.empty(); }));
  // Several rests long: a spinning loop would run thousands of handlers.
  std::size_t turns = 0;
  auto const later = std::chrono::steady_clock::now() + std::chrono::milliseconds(350);
  io_.restart();
  while (std::chrono::steady_clock::now() < later) {
    turns += io_.run_one_until(later);
  }
  EXPECT_LT(turns, 50U);
  EXPECT_EQ(observer_.troubles.size(), 1U);
  hoard.clear();
  ::setrlimit(RLIMIT_NOFILE, &before);
  client.say(R"({"op":"hello","version":1,"role":"engine"})");
  EXPECT_TRUE(answer(client).starts_with(R"({"op":"welcome")"));
}

TEST_F(ServerTest, No_descriptor_is_left_open_across_an_exec) {
  listen();
  RawClient client = engine();
  for (int fd = 3; fd < 256; ++fd) {
    int const flags = ::fcntl(fd, F_GETFD);
    if (flags >= 0 && std::filesystem::exists("/proc/self/fd/" + std::to_string(fd))) {
      std::error_code ignored;
      std::string const what =
          std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), ignored);
      bool const is_ours = what.starts_with("socket:") || what.find("pidfd") != std::string::npos;
      EXPECT_TRUE(!is_ours || (flags & FD_CLOEXEC) != 0) << what;
    }
  }
}

}  // namespace
}  // namespace lastcall::ipc::test
