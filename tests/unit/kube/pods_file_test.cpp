#include "supervisor/kube/pods_file.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lastcall::kube {
namespace {

std::string problems_in(std::string const& text) {
  inject::PodDefaults pods;
  std::string all;
  for (config::Problem const& problem : read_pods_file(text, "pods", "1", pods)) {
    all += to_text(problem) + '\n';
  }
  return all;
}

TEST(PodsFile, Keys_that_are_left_out_have_the_default) {
  inject::PodDefaults pods;
  EXPECT_TRUE(read_pods_file("image: {repository: r}\nsidecar: null\n", "pods", "9", pods).empty());
  EXPECT_EQ(pods.image, "r:9");
  EXPECT_EQ(pods.pull_policy, "IfNotPresent");
  EXPECT_EQ(pods.user, 65532);
  EXPECT_EQ(pods.sidecar.limits, (inject::Pairs{{"memory", "auto"}}));
}

TEST(PodsFile, A_digest_goes_over_a_tag_and_quantities_replace_the_default_ones) {
  inject::PodDefaults pods;
  char const* const text = R"(
shimImage: {repository: r, tag: t, digest: "sha256:1"}
install: {resources: {requests: null, limits: {cpu: 1}}}
)";
  EXPECT_TRUE(read_pods_file(text, "pods", "9", pods).empty());
  EXPECT_EQ(pods.shim_image, "r@sha256:1");
  EXPECT_TRUE(pods.install.requests.empty());
  EXPECT_EQ(pods.install.limits, (inject::Pairs{{"cpu", "1"}}));
}

TEST(PodsFile, Every_problem_is_reported_with_its_place) {
  EXPECT_EQ(
      problems_in("uid: 0\nimage: {repository: r, pullPolicy: Sometimes}\nx: 1\n"),
      "pods:1:6: uid: '0' is not a user, expected a whole number from 1 on\n"
      "pods:2:8: image.pullPolicy: Sometimes is not a policy, expected Always, IfNotPresent or "
      "Never\n"
      "pods:3:1: x: unknown key, expected image, shimImage, imagePullSecrets, uid, gracePeriod, "
      "install, sidecar\n");
  EXPECT_EQ(problems_in("imagePullSecrets: [{}]"),
            "pods:1:20: imagePullSecrets: a Secret without a name, expected name\n");
  EXPECT_NE(problems_in("imagePullSecrets: {name: s}"), "");
  EXPECT_NE(problems_in("imagePullSecrets: [s]"), "");
  EXPECT_NE(problems_in("sidecar: {env: {A: b}}"), "");
  EXPECT_NE(problems_in("sidecar: {env: [{value: b}]}"), "");
  EXPECT_NE(problems_in("- a"), "");
  EXPECT_NE(problems_in("a: ["), "");
}

}  // namespace
}  // namespace lastcall::kube
