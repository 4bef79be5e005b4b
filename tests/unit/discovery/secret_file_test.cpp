// Passwords and tokens in files, and what lies in their place.
#include "discovery/secret_file.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

namespace lastcall::discovery::test {
namespace {

class SecretFile : public ::testing::Test {
 protected:
  SecretFile() {
    std::string name = "/tmp/lastcall-secret-XXXXXX";
    directory_ = ::mkdtemp(name.data());
  }
  ~SecretFile() override { std::filesystem::remove_all(directory_); }

  std::string holding(std::string const& text) const {
    std::ofstream(path()) << text;
    return path();
  }
  std::string path() const { return directory_ + "/secret"; }

  std::string directory_;
};

TEST_F(SecretFile, Its_first_line_is_the_secret) {
  EXPECT_EQ(read_secret(holding("hush")), "hush");
  EXPECT_EQ(read_secret(holding("hush\nmore\n")), "hush");
  EXPECT_EQ(read_secret(holding("hush\r\nmore\r\n")), "hush");
  EXPECT_EQ(read_secret(holding("\n")), "");
  EXPECT_EQ(read_secret(holding(std::string(10'000, 'a') + "\nb")), std::string(10'000, 'a'));
  EXPECT_EQ(read_secret(holding("")), std::nullopt);
  EXPECT_EQ(read_secret(directory_ + "/none"), std::nullopt);
}

TEST_F(SecretFile, A_link_is_followed_as_a_mounted_secret_is_one) {
  std::ofstream(directory_ + "/data") << "hush\n";
  std::filesystem::create_symlink("data", path());
  EXPECT_EQ(read_secret(path()), "hush");
}

TEST_F(SecretFile, A_pipe_is_refused_and_never_waited_for) {
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_EQ(read_secret(path()), std::nullopt);
  EXPECT_EQ(why_no_secret(path()), path() + ": not a regular file");
}

TEST_F(SecretFile, A_device_and_a_directory_are_no_secrets) {
  EXPECT_EQ(read_secret("/dev/zero"), std::nullopt);
  EXPECT_EQ(read_secret(directory_), std::nullopt);
}

TEST_F(SecretFile, A_line_without_an_end_is_not_read_for_ever) {
  EXPECT_EQ(read_secret(holding(std::string(100'000, 'a'))), std::nullopt);
  EXPECT_EQ(why_no_secret(path()),
            path() + ": it is empty, or its first line is longer than 64 KiB");
}

}  // namespace
}  // namespace lastcall::discovery::test
