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

TEST(WebhookCounts, It_starts_once_and_what_it_waits_for_later_does_not_matter) {
  Counts counts;
  counts.start_waits_for("no certificate yet");
  EXPECT_EQ(counts.why_not_started(), "no certificate yet");
  EXPECT_EQ(counts.why_not_ready(), "no certificate yet");
  EXPECT_EQ(counts.why_not_alive(), "");
  counts.start_waits_for("");
  counts.start_waits_for("the API server is away");
  EXPECT_EQ(counts.why_not_started(), "");
  EXPECT_EQ(counts.why_not_ready(), "");
}

TEST(WebhookCounts, Looks_are_counted_by_how_they_ended) {
  Counts counts;
  counts.looked(LookEnd::changed);
  counts.looked(LookEnd::failed);
  counts.looked(LookEnd::failed);
  std::string const text = counts.exposition();
  EXPECT_THAT(text, HasSubstr("certificate_looks_total{outcome=\"kept\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("certificate_looks_total{outcome=\"changed\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("certificate_looks_total{outcome=\"failed\"} 2\n"));
}

}  // namespace
}  // namespace lastcall::kube
