#include "supervisor/runtime/cleanup/cleanup_paths.hpp"

#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/clock.hpp"
#include "tests/unit/runtime/scratch_directory.hpp"

namespace lastcall::runtime {
namespace {

lifecycle::Instant later() {
  return monotonic_now() + lifecycle::Duration{60'000};
}

TEST(CleanupPaths, Matching_files_go_and_others_stay) {
  ScratchDirectory const scratch;
  scratch.write("lora-1/deep/er/file", "x");
  scratch.write("lora-2", "x");
  scratch.write("other", "x");
  ItemResult const result = remove_paths({scratch / "lora-*"}, {}, later());
  EXPECT_EQ(result.outcome, lifecycle::ItemOutcome::completed) << result.detail;
  EXPECT_FALSE(scratch.has("lora-1"));
  EXPECT_FALSE(scratch.has("lora-2"));
  EXPECT_TRUE(scratch.has("other"));
}

TEST(CleanupPaths, A_wildcard_may_stand_for_a_directory_on_the_way) {
  ScratchDirectory const scratch;
  scratch.write("a/cache/x", "x");
  scratch.write("b/cache/x", "x");
  scratch.write("b/keep", "x");
  remove_paths({scratch / "*/cache"}, {}, later());
  EXPECT_FALSE(scratch.has("a/cache"));
  EXPECT_FALSE(scratch.has("b/cache"));
  EXPECT_TRUE(scratch.has("b/keep"));
}

TEST(CleanupPaths, A_directory_that_cannot_be_looked_into_is_a_failure) {
#ifdef __has_feature
#if __has_feature(undefined_behavior_sanitizer)
  GTEST_SKIP() << "UBSan opens a pipe to look at a vptr: without descriptors it reports every call";
#endif
#endif
  ScratchDirectory const scratch;
  scratch.write("lora-1", "x");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit const none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  ItemResult const result = remove_paths({scratch / "lora-*"}, {}, later());
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(result.outcome, lifecycle::ItemOutcome::failed);
  EXPECT_EQ(result.detail, "removed 0, 1 could not be removed: /: Too many open files");
  EXPECT_EQ(remove_paths({scratch / "none/x", scratch / "lora-1/x"}, {}, later()).outcome,
            lifecycle::ItemOutcome::completed)
      << "nothing is there";
}

TEST(CleanupPaths, Links_are_removed_as_links_and_never_followed) {
  ScratchDirectory const scratch;
  scratch.write("outside/precious", "x");
  std::filesystem::create_directory(scratch / "t");
  std::filesystem::create_directory_symlink(scratch / "outside", scratch / "t/link");
  std::filesystem::create_directory_symlink(scratch / "outside", scratch / "way");
  remove_paths({scratch / "t", scratch / "way/precious"}, {}, later());
  EXPECT_FALSE(scratch.has("t"));
  EXPECT_TRUE(scratch.has("outside/precious"));
}

TEST(CleanupPaths, A_file_that_somebody_else_removes_meanwhile_is_no_failure) {
  ScratchDirectory const scratch;
  for (int i = 0; i < 500; ++i) {
    scratch.write("shared/" + std::to_string(i % 20) + "/" + std::to_string(i), "x");
  }
  ItemResult theirs;
  std::thread other([&] { theirs = remove_paths({scratch / "shared"}, {}, later()); });
  ItemResult const ours = remove_paths({scratch / "shared"}, {}, later());
  other.join();
  EXPECT_EQ(ours.outcome, lifecycle::ItemOutcome::completed) << ours.detail;
  EXPECT_EQ(theirs.outcome, lifecycle::ItemOutcome::completed) << theirs.detail;
  EXPECT_FALSE(scratch.has("shared"));
}

TEST(CleanupPaths, Nothing_to_remove_is_a_success) {
  ScratchDirectory const scratch;
  EXPECT_EQ(remove_paths({scratch / "none-*"}, {}, later()).outcome,
            lifecycle::ItemOutcome::completed);
}

TEST(CleanupPaths, After_the_deadline_nothing_more_is_removed) {
  ScratchDirectory const scratch;
  scratch.write("x", "x");
  EXPECT_EQ(remove_paths({scratch / "x"}, {}, monotonic_now()).outcome,
            lifecycle::ItemOutcome::timed_out);
  EXPECT_TRUE(scratch.has("x"));
}

TEST(CleanupPaths, A_dangerous_pattern_is_refused_and_the_others_are_still_removed) {
  ScratchDirectory const scratch;
  scratch.write("x", "x");
  ItemResult const result = remove_paths({"/home/*", scratch / "x"}, {}, later());
  EXPECT_EQ(result.outcome, lifecycle::ItemOutcome::failed);
  EXPECT_NE(result.detail.find("refused /home/*: outside of"), std::string::npos) << result.detail;
  EXPECT_FALSE(scratch.has("x"));
}

TEST(CleanupPaths, A_kept_file_stays_with_its_directories) {
  ScratchDirectory const scratch;
  scratch.write("run/lastcall.sock", "x");
  scratch.write("run/other", "x");
  scratch.write("private/admin.sock", "x");
  scratch.write("gone/x", "x");
  ItemResult const result =
      remove_paths({scratch / "*"},
                   {scratch / "run/lastcall.sock", scratch / "private", scratch / "none"}, later());
  EXPECT_EQ(result.outcome, lifecycle::ItemOutcome::completed) << result.detail;
  EXPECT_TRUE(scratch.has("run/lastcall.sock"));
  EXPECT_TRUE(scratch.has("private/admin.sock"));
  EXPECT_FALSE(scratch.has("run/other"));
  EXPECT_FALSE(scratch.has("gone"));
}

}  // namespace
}  // namespace lastcall::runtime
