#include "inject/diff.hpp"

#include <gtest/gtest.h>

namespace lastcall::inject {
namespace {

TEST(Diff, Equal_texts_have_none) {
  EXPECT_EQ(unified_diff("a\nb\n", "a\nb\n", "x"), "");
  EXPECT_EQ(unified_diff("", "", "x"), "");
}

TEST(Diff, Lines_that_come_and_go_stand_between_those_around) {
  EXPECT_EQ(unified_diff("1\n2\n3\n4\n5\n6\n7\n8\n", "1\n2\n3\n4\nnew\n6\n7\n8\n", "x"),
            "--- x\n+++ x\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+new\n 6\n 7\n 8\n");
}

TEST(Diff, Changes_far_apart_are_hunks_of_their_own) {
  std::string before;
  for (char c = 'a'; c <= 'z'; ++c) {
    before += std::string(1, c) + "\n";
  }
  std::string after = before;
  after.insert(0, "first\n");
  after += "last\n";
  EXPECT_EQ(
      unified_diff(before, after, "x"),
      "--- x\n+++ x\n@@ -1,3 +1,4 @@\n+first\n a\n b\n c\n@@ -24,3 +25,4 @@\n x\n y\n z\n+last\n");
}

TEST(Diff, A_last_line_without_an_end_is_marked) {
  EXPECT_EQ(unified_diff("a", "a\nb", "x"),
            "--- x\n+++ x\n@@ -1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b\n"
            "\\ No newline at end of file\n");
  EXPECT_EQ(unified_diff("", "a\n", "x"), "--- x\n+++ x\n@@ -0,0 +1 @@\n+a\n");
}

}  // namespace
}  // namespace lastcall::inject
