// Files and directories of the sockets.
#include <fstream>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

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
  Recorder other_observer(server_);
  Server other(io_, options_, other_observer);
  auto const problem = other.listen();
  ASSERT_TRUE(problem);
  EXPECT_EQ(*problem, "cannot listen on " + options_.engine_socket +
                          ": another process listens there; is lastcall running already?");
  engine();
}

TEST_F(ServerTest, When_the_admin_socket_is_live_the_engine_socket_is_given_back) {
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
  EXPECT_NE(problem->find("no socket"), std::string::npos) << *problem;
  EXPECT_TRUE(std::filesystem::exists(options_.engine_socket));
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
