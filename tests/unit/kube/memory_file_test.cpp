#include "supervisor/kube/memory_file.hpp"

#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace lastcall::kube {
namespace {

std::string read(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(MemoryFile, A_path_has_what_was_put_last) {
  MemoryFile file;
  ASSERT_EQ(file.put("first"), "");
  std::string const path = file.path();
  EXPECT_EQ(read(path), "first");
  ASSERT_EQ(file.put("2"), "");
  EXPECT_EQ(file.path(), path);
  EXPECT_EQ(read(path), "2");
}

TEST(MemoryFile, Each_is_a_file_of_its_own_for_those_who_follow_it) {
  MemoryFile file;
  ASSERT_EQ(file.put("same"), "");
  std::ifstream open(file.path(), std::ios::binary);
  struct stat before {};
  ASSERT_EQ(::stat(file.path().c_str(), &before), 0);
  EXPECT_TRUE(S_ISREG(before.st_mode));
  ASSERT_EQ(file.put("size"), "");
  struct stat after {};
  ASSERT_EQ(::stat(file.path().c_str(), &after), 0);
  EXPECT_NE(before.st_ino, after.st_ino);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(open), {}), "same");  // it is open yet
}

}  // namespace
}  // namespace lastcall::kube
