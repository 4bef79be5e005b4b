#include "supervisor/kube/workload.hpp"

#include <gtest/gtest.h>

namespace lastcall::kube {
namespace {

bool is_over(char const* name, char const* text) {
  return parse_workload(name)->kind->is_over(Json::parse(text));
}

TEST(Workload, A_name_is_a_kind_in_any_of_its_spellings_and_a_name) {
  for (char const* const text : {"deployment/x", "deploy/x", "Deployments/x"}) {
    auto const found = parse_workload(text);
    ASSERT_TRUE(found) << text;
    EXPECT_STREQ(found->kind->plural, "deployments");
    EXPECT_EQ(found->name, "x");
  }
  for (char const* const text : {"", "x", "deployment/", "pod/x", "/x"}) {
    EXPECT_FALSE(parse_workload(text)) << text;
  }
}

TEST(Workload, A_deployment_is_over_when_all_replicas_are_new_and_available) {
  constexpr char const* kDone = R"({"metadata":{"generation":2},"spec":{"replicas":2},
    "status":{"observedGeneration":2,"replicas":2,"updatedReplicas":2,"availableReplicas":2}})";
  EXPECT_TRUE(is_over("deploy/x", kDone));
  for (char const* const key :
       {"observedGeneration", "replicas", "updatedReplicas", "availableReplicas"}) {
    Json json = Json::parse(kDone);
    json["status"][key] = 1;
    EXPECT_FALSE(is_over("deploy/x", json.dump().c_str())) << key;
  }
}

TEST(Workload, A_partition_of_a_stateful_set_stays_old) {
  EXPECT_TRUE(is_over("sts/x", R"({"spec":{"replicas":3,"updateStrategy":{"rollingUpdate":
    {"partition":2}}},"status":{"replicas":3,"readyReplicas":3,"updatedReplicas":1}})"));
  EXPECT_FALSE(is_over("sts/x", R"({"spec":{"replicas":3},
    "status":{"replicas":3,"readyReplicas":3,"updatedReplicas":1}})"));
}

TEST(Workload, Its_selector_is_written_as_a_query_has_it) {
  Json const object = Json::parse(R"({"spec":{"selector":{"matchLabels":{"a":"b"},
    "matchExpressions":[{"key":"k","operator":"In","values":["1","2"]},
    {"key":"n","operator":"NotIn","values":["3"]},{"key":"e","operator":"Exists"},
    {"key":"d","operator":"DoesNotExist"}]}}})");
  EXPECT_EQ(selector_of(*parse_workload("deploy/x"), object), "a=b,k in (1,2),n notin (3),e,!d");
  EXPECT_EQ(selector_of(*parse_workload("lws/x"), {}), "leaderworkerset.sigs.k8s.io/name=x");
  EXPECT_EQ(selector_of(*parse_workload("deploy/x"), {}), "");
}

}  // namespace
}  // namespace lastcall::kube
