#include "router/source_troubles.hpp"

#include <string>

#include <gtest/gtest.h>

namespace lastcall::router {
namespace {

TEST(SourceTroubles, Each_reason_is_new_once_until_the_source_can_be_read_again) {
  SourceTroubles troubles;
  EXPECT_TRUE(troubles.failed(1, "etcd", "refused"));
  EXPECT_FALSE(troubles.failed(1, "etcd", "refused"));
  EXPECT_TRUE(troubles.failed(1, "etcd", "permission denied"));
  EXPECT_FALSE(troubles.failed(1, "etcd", "refused"));
  EXPECT_EQ(troubles.changed_text(),
            "the source 'etcd' cannot be read; its last known workers are used: refused\n");
  EXPECT_TRUE(troubles.ended(1, "etcd"));
  EXPECT_FALSE(troubles.ended(1, "etcd"));
  EXPECT_EQ(troubles.changed_text(), "");
  EXPECT_TRUE(troubles.failed(1, "etcd", "refused"));
}

TEST(SourceTroubles, Reasons_that_differ_each_time_are_limited) {
  SourceTroubles troubles;
  std::size_t told = 0;
  for (int i = 0; i < 100; ++i) {
    told += troubles.failed(1, "etcd", "error " + std::to_string(i)) ? 1 : 0;
  }
  EXPECT_EQ(told, SourceTroubles::kMostReasons);
  EXPECT_NE(troubles.changed_text()->find("error 99"), std::string::npos);
}

TEST(SourceTroubles, A_name_is_troubled_while_any_of_its_sources_is) {
  SourceTroubles troubles;
  EXPECT_FALSE(troubles.ended(1, "etcd"));
  troubles.failed(1, "etcd", "refused");
  troubles.failed(2, "etcd", "refused");
  EXPECT_TRUE(troubles.ended(1, "etcd"));
  EXPECT_TRUE(troubles.has("etcd"));
  EXPECT_TRUE(troubles.ended(2, "etcd"));
  EXPECT_FALSE(troubles.has("etcd"));
}

TEST(SourceTroubles, Each_reason_of_a_name_has_a_line) {
  SourceTroubles troubles;
  std::string const line = "the source 'etcd' cannot be read; its last known workers are used: ";
  troubles.failed(1, "etcd", "refused");
  troubles.failed(2, "etcd", "permission denied");
  troubles.failed(3, "etcd", "refused");
  EXPECT_EQ(troubles.changed_text(), line + "refused\n" + line + "permission denied\n");
  troubles.ended(2, "etcd");
  EXPECT_EQ(troubles.changed_text(), line + "refused\n");
}

TEST(SourceTroubles, Lines_are_built_only_if_they_have_changed) {
  SourceTroubles troubles;
  EXPECT_EQ(troubles.changed_text(), std::nullopt);
  troubles.failed(1, "etcd", "");
  EXPECT_NE(troubles.changed_text(), std::nullopt);
  troubles.failed(1, "etcd", "");
  EXPECT_EQ(troubles.changed_text(), std::nullopt);
  troubles.failed(1, "etcd", "refused");
  troubles.failed(1, "etcd", "timed out");
  EXPECT_NE(troubles.changed_text(), std::nullopt);
  troubles.failed(1, "etcd", "refused");  // the latest reason is shown, although it is not new
  EXPECT_NE(troubles.changed_text(), std::nullopt);
  troubles.ended(2, "etcd");
  EXPECT_EQ(troubles.changed_text(), std::nullopt);
}

}  // namespace
}  // namespace lastcall::router
