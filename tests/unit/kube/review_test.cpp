#include "supervisor/kube/review.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/kube/json.hpp"

namespace lastcall::kube {
namespace {

using testing::HasSubstr;

Json pod() {
  return Json::parse(R"({"kind":"Pod","apiVersion":"v1",
    "metadata":{"generateName":"v-","labels":{"lastcall.dev/inject":"true"}},
    "spec":{"containers":[{"name":"vllm","image":"vllm","command":["vllm","serve"]}]}})");
}

ReviewAnswer review(Json const& object, OnFailure on_failure = OnFailure::deny) {
  Json const request{{"uid", "u"},
                     {"operation", "CREATE"},
                     {"namespace", "models"},
                     {"kind", {{"group", ""}, {"version", "v1"}, {"kind", "Pod"}}},
                     {"object", object}};
  Json const whole{
      {"apiVersion", "admission.k8s.io/v1"}, {"kind", "AdmissionReview"}, {"request", request}};
  return answer_review(whole.dump(), {.inject = {}, .on_failure = on_failure});
}

Json response_of(ReviewAnswer const& answer) {
  return Json::parse(answer.body).at("response");
}

TEST(Review, A_pod_that_asks_gets_a_patch) {
  ReviewAnswer const answer = review(pod());
  EXPECT_EQ(answer.end, ReviewEnd::injected);
  EXPECT_EQ(answer.pod, "models/v-*");
  Json const response = response_of(answer);
  EXPECT_EQ(response.at("uid"), "u");
  EXPECT_EQ(response.at("patchType"), "JSONPatch");
}

TEST(Review, A_sidecar_of_either_form_is_enough) {
  for (char const* const list : {"containers", "initContainers"}) {
    Json with = pod();
    with["spec"][list].push_back({{"name", "lastcall"}});
    ReviewAnswer const answer = review(with);
    EXPECT_EQ(answer.end, ReviewEnd::unchanged) << list;
    EXPECT_FALSE(response_of(answer).contains("patch"));
  }
}

TEST(Review, What_cannot_be_injected_ends_as_it_was_asked_for) {
  Json bad = pod();
  bad["spec"]["containers"][0]["command"] = "vllm serve";
  Json const denied = response_of(review(bad));
  EXPECT_FALSE(denied.at("allowed").get<bool>());
  EXPECT_THAT(denied.at("status").at("message").get<std::string>(), HasSubstr("no list"));
  Json const warned = response_of(review(bad, OnFailure::warn));
  EXPECT_TRUE(warned.at("allowed").get<bool>());
  EXPECT_THAT(warned.at("warnings").at(0).get<std::string>(), HasSubstr("no list"));
  Json const audited = response_of(review(bad, OnFailure::audit));
  EXPECT_THAT(audited.at("auditAnnotations").at("refused").get<std::string>(),
              HasSubstr("no list"));
}

TEST(Review, Parts_of_another_kind_are_refused_and_never_admitted) {
  for (char const* const text :
       {R"({"metadata":1,"spec":{"containers":[]}})", R"({"metadata":{},"spec":[]})",
        R"({"metadata":{"labels":[]},"spec":{"containers":{}}})", "null", "[]", "\"x\""}) {
    ReviewAnswer const answer = review(Json::parse(text));
    EXPECT_EQ(answer.end, ReviewEnd::invalid) << text;
    EXPECT_FALSE(response_of(answer).at("allowed").get<bool>()) << text;
  }
}

TEST(Review, Depth_is_bounded_before_anything_is_built) {
  ReviewAnswer const answer = answer_review(std::string(1'000'000, '['), {});
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.end, ReviewEnd::invalid);
}

}  // namespace
}  // namespace lastcall::kube
