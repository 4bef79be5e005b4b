#include "supervisor/kube/pod.hpp"

#include <gtest/gtest.h>

namespace lastcall::kube {
namespace {

Pod read(char const* text) {
  return read_pod(Json::parse(text));
}

TEST(Pod, The_engines_container_is_the_nearer_witness) {
  Pod const pod = read(R"({"metadata":{"name":"p","uid":"u","deletionTimestamp":"t"},
    "status":{"podIP":"10.0.0.1","conditions":[{"type":"Ready","status":"True"}],
      "initContainerStatuses":[{"name":"lastcall",
        "state":{"terminated":{"message":"{\"cause\":\"of the sidecar\"}"}}}],
      "containerStatuses":[{"name":"vllm",
        "state":{"terminated":{"message":"{\"cause\":\"of the engine\"}"}}}]}})");
  EXPECT_TRUE(pod.is_ready);
  EXPECT_TRUE(pod.is_ending);
  EXPECT_TRUE(pod.has_run);
  ASSERT_EQ(pod.final_reports.size(), 1U);
  EXPECT_EQ(pod.final_reports[0].cause, "of the engine");
}

TEST(Pod, A_sidecar_that_runs_is_no_engine_that_ran) {
  EXPECT_FALSE(read(R"({"status":{"containerStatuses":[
    {"name":"lastcall","state":{"running":{}}},{"name":"vllm","state":{"waiting":{}}}]}})")
                   .has_run);
}

TEST(Pod, The_port_of_the_probes_is_the_one_that_the_chart_names) {
  constexpr char const* kPod = R"({"spec":{"initContainers":[{"name":"lastcall",
    "ports":[{"name":"lastcall","containerPort":7190},{"name":"ingress","containerPort":8080}]}],
    "containers":[{"name":"vllm","ports":[{"name":"lastcall","containerPort":1}]}]}})";
  EXPECT_EQ(read(kPod).port, "7190");
  EXPECT_EQ(read("{}").port, "7090");
}

TEST(Pod, Parts_of_another_kind_read_as_nothing) {
  Pod const pod = read(R"({"metadata":[],"status":{"conditions":7,"containerStatuses":"x",
    "initContainerStatuses":[null,1]},"spec":{"containers":{"name":"lastcall"}}})");
  EXPECT_EQ(pod.name, "");
  EXPECT_FALSE(pod.has_run);
}

}  // namespace
}  // namespace lastcall::kube
