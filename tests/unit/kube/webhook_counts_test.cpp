#include "supervisor/kube/webhook_counts.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lastcall::kube {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TEST(WebhookCounts, Buckets_hold_all_that_was_shorter) {
  Counts counts;
  counts.reviewed(ReviewEnd::injected, milliseconds(2));
  counts.reviewed(ReviewEnd::refused, milliseconds(30));
  counts.reviewed(ReviewEnd::refused, milliseconds(5'000));
  std::string const text = counts.exposition();
  EXPECT_THAT(text, HasSubstr("_bucket{le=\"0.001\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("_bucket{le=\"0.0025\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("_bucket{le=\"0.05\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("_bucket{le=\"1\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("_bucket{le=\"+Inf\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("reviews_total{outcome=\"refused\"} 2\n"));
}

TEST(WebhookCounts, It_is_ready_until_it_ends_or_its_certificate_has) {
  Counts counts;
  EXPECT_EQ(counts.why_not_ready(), "");
  counts.beat(1);
  EXPECT_EQ(counts.why_not_ready(), "the certificate has expired");
  counts.beat(4'000'000'000);
  EXPECT_EQ(counts.why_not_ready(), "");
  counts.end();
  EXPECT_EQ(counts.why_not_ready(), "ending");
  EXPECT_EQ(counts.why_not_alive(), "");
}

}  // namespace
}  // namespace lastcall::kube
