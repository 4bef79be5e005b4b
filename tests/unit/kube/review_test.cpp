#include "supervisor/kube/review.hpp"

#include <ctime>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include "supervisor/kube/json.hpp"

namespace lastcall::kube {
namespace {

using testing::HasSubstr;

Json pod() {
  return Json::parse(R"({"kind":"Pod","apiVersion":"v1",
    "metadata":{"generateName":"v-","labels":{"lastcall.dev/inject":"true"}},
    "spec":{"containers":[{"name":"vllm","image":"vllm","command":["vllm","serve"]}]}})");
}

ReviewAnswer review(Json const& object, ReviewSettings const& settings) {
  Json const request{{"uid", "u"},
                     {"operation", "CREATE"},
                     {"namespace", "models"},
                     {"kind", {{"group", ""}, {"version", "v1"}, {"kind", "Pod"}}},
                     {"object", object}};
  Json const whole{
      {"apiVersion", "admission.k8s.io/v1"}, {"kind", "AdmissionReview"}, {"request", request}};
  return answer_review(whole.dump(), settings);
}

ReviewAnswer review(Json const& object, OnFailure on_failure = OnFailure::deny) {
  return review(object, {.inject = {}, .on_failure = on_failure});
}

Json response_of(ReviewAnswer const& answer) {
  return Json::parse(answer.body).at("response");
}

Json patch_of(ReviewAnswer const& answer) {
  std::string const text = response_of(answer).at("patch").get<std::string>();
  std::string out(text.size(), '\0');
  EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                  reinterpret_cast<unsigned char const*>(text.data()),
                  static_cast<int>(text.size()));
  return Json::parse(out.substr(0, out.rfind(']') + 1));
}

TEST(Review, A_pod_that_asks_gets_a_patch) {
  ReviewAnswer const answer = review(pod());
  EXPECT_EQ(answer.end, ReviewEnd::injected);
  EXPECT_EQ(answer.pod, "models/v-*");
  Json const response = response_of(answer);
  EXPECT_EQ(response.at("uid"), "u");
  EXPECT_EQ(response.at("patchType"), "JSONPatch");
}

TEST(Review, A_patch_leaves_kind_and_version_as_they_were_sent) {
  for (Json const& version : {Json("v2"), Json("v1"), Json()}) {
    Json other = pod();
    other["apiVersion"] = version;
    Json const patch = patch_of(review(other));
    ASSERT_FALSE(patch.empty());
    for (Json const& operation : patch) {
      EXPECT_THAT(operation.at("path").get<std::string>(), testing::Not(HasSubstr("apiVersion")));
    }
  }
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

TEST(Review, A_pod_that_cannot_be_injected_ends_as_configured) {
  Json bad = pod();
  bad["spec"]["containers"][0]["command"] = "vllm serve";
  Json const denied = response_of(review(bad));
  EXPECT_FALSE(denied.at("allowed").get<bool>());
  EXPECT_THAT(denied.at("status").at("message").get<std::string>(), HasSubstr("not a list"));
  Json const warned = response_of(review(bad, OnFailure::warn));
  EXPECT_TRUE(warned.at("allowed").get<bool>());
  EXPECT_THAT(warned.at("warnings").at(0).get<std::string>(), HasSubstr("not a list"));
  Json const audited = response_of(review(bad, OnFailure::audit));
  EXPECT_THAT(audited.at("auditAnnotations").at("refused").get<std::string>(),
              HasSubstr("not a list"));
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

TEST(Review, A_review_of_very_many_values_is_refused_before_anything_is_built) {
  std::string members = "{\"a\":0";
  for (int i = 0; i < 400'000; ++i) {
    members += ",\"" + std::to_string(i) + "\":0";
  }
  std::string lists = "[{}";
  for (int i = 0; i < 1'300'000; ++i) {
    lists += ",{}";
  }
  for (std::string const& body : {members + "}", lists + "]"}) {
    ReviewAnswer const answer = answer_review(body, {});
    EXPECT_EQ(answer.status, 400);
    EXPECT_THAT(answer.reason, HasSubstr("at most 50000 values"));
  }
}

/// Processor time of the injection into a pod with so many variables.
std::clock_t cost_of(int variables) {
  Json large = pod();
  Json& env = large["spec"]["containers"][0]["env"];
  for (int i = 0; i < variables; ++i) {
    env.push_back({{"name", "V" + std::to_string(i)}, {"value", "v"}});
  }
  std::clock_t const began = std::clock();
  EXPECT_EQ(review(large).end, ReviewEnd::injected);
  return std::clock() - began;
}

TEST(Review, A_pod_with_many_variables_costs_in_proportion) {
  std::clock_t const few = cost_of(500);
  EXPECT_LT(cost_of(4000), 16 * few);
}

/// Processor time of the refusal of a pod with so many mounts around lastcall's, each of another
/// volume, and as many ports that are the sidecar's.
std::clock_t cost_of_refusing(int problems) {
  Json volumes = Json::array();
  Json mounts = Json::array();
  Json ports = Json::array();
  for (int i = 0; i < problems; ++i) {
    std::string const name = "v" + std::to_string(i);
    volumes.push_back(Json::object({{"name", name}, {"secret", Json::object()}}));
    mounts.push_back(Json::object({{"name", name}, {"mountPath", "/opt"}}));
    ports.push_back(Json::object({{"containerPort", 7090}}));
  }
  Json bad = pod();
  bad["spec"]["containers"][0]["volumeMounts"] = mounts;
  bad["spec"]["containers"][0]["ports"] = ports;
  bad["spec"]["volumes"] = volumes;
  std::clock_t const began = std::clock();
  EXPECT_EQ(review(bad).end, ReviewEnd::refused);
  return std::clock() - began;
}

TEST(Review, A_pod_with_many_problems_costs_in_proportion) {
  std::clock_t const few = cost_of_refusing(250);
  EXPECT_LT(cost_of_refusing(4000), 40 * few);
}

TEST(Review, A_configuration_with_a_problem_in_each_line_gets_a_reason_of_a_few_kilobytes) {
  ReviewSettings settings;
  settings.inject.check = [](inject::SidecarConfig const& sidecar) {
    return config::Problems(sidecar.file.size(), {{}, "shutdown", "unknown, expected \u00e9"});
  };
  Json bad = pod();
  bad["metadata"]["annotations"]["lastcall.dev/config"] = std::string(50'000, 'a');
  ReviewAnswer const answer = review(bad, settings);
  EXPECT_EQ(answer.end, ReviewEnd::refused);
  EXPECT_LT(answer.reason.size(), 5'000U);
  EXPECT_LT(answer.body.size(), 10'000U);
  EXPECT_THAT(answer.reason, HasSubstr("expected \u00e9; "));
  EXPECT_THAT(answer.reason, testing::EndsWith(" more"));
}

TEST(Review, Longer_annotations_than_a_pod_may_have_are_not_read) {
  Json large = pod();
  large["metadata"]["annotations"]["lastcall.dev/config"] = std::string(300'000, '\n');
  ReviewAnswer const answer = review(large);
  EXPECT_EQ(answer.end, ReviewEnd::invalid);
  EXPECT_THAT(answer.reason, HasSubstr("256 KiB"));
}

}  // namespace
}  // namespace lastcall::kube
