#include "ingress/memory_limit.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace lastcall::ingress {
namespace {

/// A root file system that contains only what a test wants.
struct MemoryLimit : testing::Test {
  std::filesystem::path const root =
      std::filesystem::path(testing::TempDir()) / ("memory_limit." + std::to_string(::getpid()));

  void say(std::string const& path, std::string const& text) const {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  std::optional<std::uint64_t> limit() const { return memory_limit(root.string()); }
  void TearDown() override { std::filesystem::remove_all(root); }
};

TEST_F(MemoryLimit, Is_none_where_nothing_can_be_read) {
  EXPECT_EQ(limit(), std::nullopt);
  say("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(limit(), std::nullopt);
  say("sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(limit(), std::nullopt);
}

TEST_F(MemoryLimit, Of_a_container_is_that_of_the_root_that_it_sees) {
  say("proc/self/cgroup", "0::/\n");
  say("sys/fs/cgroup/memory.max", "1073741824\n");
  EXPECT_EQ(limit(), 1'073'741'824U);
  say("proc/self/cgroup", "0::/kubepods/pod1/c1\n");  // of the host, which is not mounted here
  EXPECT_EQ(limit(), 1'073'741'824U);
}

TEST_F(MemoryLimit, Is_the_least_from_our_own_cgroup_to_the_root) {
  say("proc/self/cgroup", "0::/a/b\n");
  say("sys/fs/cgroup/a/b/memory.max", "max\n");
  say("sys/fs/cgroup/a/memory.max", "4096\n");
  say("sys/fs/cgroup/memory.max", "8192\n");
  EXPECT_EQ(limit(), 4'096U);
  say("sys/fs/cgroup/a/b/memory.max", "2048\n");
  EXPECT_EQ(limit(), 2'048U);
}

TEST_F(MemoryLimit, Is_read_from_the_first_version_of_cgroups_too) {
  say("proc/self/cgroup", "12:cpu,cpuacct:/x\n7:hugetlb,memory:/docker/1\n0::/x\n");
  say("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "524288\n");
  say("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");  // none
  EXPECT_EQ(limit(), 524'288U);
}

}  // namespace
}  // namespace lastcall::ingress
