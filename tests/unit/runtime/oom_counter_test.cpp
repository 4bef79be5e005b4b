// The supervisor's own look at the OOM counter of the engine's container.
#include "supervisor/runtime/host/oom_counter.hpp"

#include <array>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace lastcall::runtime {
namespace {

TEST(OomCounter, Reads_the_kills_and_nothing_that_only_looks_like_them) {
  EXPECT_EQ(oom_kills_in("low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 1\n"), 2U);
  EXPECT_EQ(oom_kills_in("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n"), 7U);
  EXPECT_EQ(oom_kills_in("oom_kill_disable 0\nunder_oom 0\n"), std::nullopt);
  EXPECT_EQ(oom_kills_in("oom_kill many\n"), std::nullopt);
  EXPECT_EQ(oom_kills_in("oom_kill 99999999999999999999999\n"), std::nullopt);
  EXPECT_EQ(oom_kills_in(""), std::nullopt);
}

TEST(OomCounter, Is_silent_without_a_file) {
  OomCounter counter;
  EXPECT_FALSE(counter.has_struck());
  counter.watch(Descriptor());
  EXPECT_FALSE(counter.has_struck());
}

TEST(OomCounter, Reads_nothing_that_is_no_file_of_a_cgroup) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  Descriptor const writer(ends[1]);
  OomCounter counter;
  counter.watch(Descriptor(ends[0]));  // would block for ever
  EXPECT_FALSE(counter.has_struck());
  // It was not kept: its other end has no reader any more.
  EXPECT_EQ(::fcntl(ends[0], F_GETFD), -1);
}

}  // namespace
}  // namespace lastcall::runtime
