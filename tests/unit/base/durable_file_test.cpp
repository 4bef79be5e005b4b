#include "base/durable_file.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

namespace lastcall::test {
namespace {

namespace fs = std::filesystem;

class DurableFile : public ::testing::Test {
 protected:
  DurableFile() {
    std::string pattern = (fs::temp_directory_path() / "durable-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
  }
  ~DurableFile() override { fs::remove_all(directory_); }

  std::string path() const { return (directory_ / "file").string(); }
  std::string temporary() const { return (directory_ / ".file.tmp").string(); }
  std::string content() const {
    std::ifstream file(path());
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path directory_;
};

TEST_F(DurableFile, Replaces_the_content_and_leaves_nothing_else) {
  std::ofstream(temporary()) << "left by a crash";
  for (char const* text : {"one", "another"}) {
    EXPECT_EQ(replace_file(path(), temporary(), text, 0600), "");
    EXPECT_EQ(content(), text);
    EXPECT_FALSE(fs::exists(temporary()));
  }
  struct stat facts {};
  ASSERT_EQ(::stat(path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
}

TEST_F(DurableFile, A_failure_names_the_step_and_keeps_the_old_content) {
  fs::create_directory(path());
  fs::create_directory(path() + "/not_empty");
  EXPECT_EQ(replace_file(path(), temporary(), "text", 0600),
            file_failure("rename " + temporary() + " to", path(), EISDIR));
  EXPECT_FALSE(fs::exists(temporary()));
  EXPECT_EQ(replace_file("/nowhere/file", "/nowhere/new", "text", 0600),
            "cannot write /nowhere/new: no such file or directory");
}

TEST_F(DurableFile, A_directory_that_is_not_there_cannot_be_flushed) {
  EXPECT_EQ(flush_directory(directory_.string()), 0);
  EXPECT_EQ(flush_directory("/nowhere"), ENOENT);
}

}  // namespace
}  // namespace lastcall::test
