#include "discovery/kubernetes_wire.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "discovery/deletion_cost.hpp"

namespace lastcall::discovery::kubernetes {
namespace {

using Json = nlohmann::json;

Pod const kPod{.space = "models", .name = "qwen-0", .uid = "u-1"};

Json slice(char const* name, Json ready, char const* uid = "u-1", char const* pod = "qwen-0") {
  Json conditions = Json::object();
  if (!ready.is_null()) {
    conditions["ready"] = std::move(ready);
  }
  return {{"metadata", {{"name", name}, {"resourceVersion", "8"}}},
          {"endpoints",
           Json::array({{{"conditions", std::move(conditions)},
                         {"targetRef", {{"kind", "Pod"}, {"name", pod}, {"uid", uid}}}}})}};
}

std::string list(std::initializer_list<Json> slices) {
  auto items = Json::array();
  for (auto const& one : slices) {
    items.push_back(one);
  }
  return Json{{"metadata", {{"resourceVersion", "7"}}}, {"items", std::move(items)}}.dump();
}
std::string change(char const* type, Json object) {
  return Json{{"type", type}, {"object", std::move(object)}}.dump();
}

using Names = std::vector<std::string>;

TEST(DeletionCost, Is_written_again_where_the_number_has_moved_by_more_than_an_eighth) {
  EXPECT_TRUE(is_another_cost(std::nullopt, 0));
  EXPECT_FALSE(is_another_cost(0, 0));
  EXPECT_TRUE(is_another_cost(0, 1));
  EXPECT_TRUE(is_another_cost(100, 0));
  EXPECT_FALSE(is_another_cost(100, 112));
  EXPECT_FALSE(is_another_cost(100, 88));
  EXPECT_TRUE(is_another_cost(100, 113));
  EXPECT_TRUE(is_another_cost(100, 87));
  EXPECT_TRUE(is_another_cost(3, 4));
}

TEST(DeletionCost, Is_an_annotation_of_this_pod_alone) {
  auto const patch = Json::parse(cost_patch(kPod, 7));
  EXPECT_EQ(patch["metadata"]["uid"], "u-1");
  EXPECT_EQ(patch["metadata"]["annotations"]["controller.kubernetes.io/pod-deletion-cost"], "7");
}

TEST(Slices, Are_ready_where_the_pod_is_or_the_condition_is_missing) {
  Slices slices(kPod);
  ASSERT_TRUE(slices.take_list(list({slice("a", true), slice("b", false), slice("c", nullptr),
                                     slice("d", true, "u-2", "qwen-0")})));
  EXPECT_EQ(slices.ready_in(), (Names{"a", "c"}));
  EXPECT_EQ(slices.resource_version(), "7");
}

TEST(Slices, Know_the_pod_by_its_name_where_no_uid_is_known) {
  Slices slices({.space = "models", .name = "qwen-0", .uid = ""});
  ASSERT_TRUE(slices.take_list(list({slice("a", true, "u-9"), slice("b", true, "u-9", "qwen-1")})));
  EXPECT_EQ(slices.ready_in(), Names{"a"});
}

TEST(Slices, Follow_changes) {
  Slices slices(kPod);
  ASSERT_TRUE(slices.take_list(list({slice("a", true)})));
  EXPECT_TRUE(slices.take_change(change("ADDED", slice("b", true))));
  EXPECT_TRUE(slices.take_change(change("MODIFIED", slice("a", false))));
  EXPECT_EQ(slices.ready_in(), Names{"b"});
  EXPECT_TRUE(slices.take_change(change("DELETED", slice("b", true))));
  EXPECT_EQ(slices.ready_in(), Names{});
  EXPECT_EQ(slices.resource_version(), "8");
}

TEST(Slices, Are_listed_again_after_an_error_of_the_watch) {
  Slices slices(kPod);
  for (char const* line : {"", "{", "null", "[]", R"({"type":"ERROR","object":{"code":410}})",
                           R"({"type":"BOOKMARK","object":{}})", R"({"type":"ADDED"})"}) {
    EXPECT_FALSE(slices.take_change(line)) << line;
  }
}

TEST(Slices, Take_no_list_that_is_none) {
  Slices slices(kPod);
  for (char const* body : {"", "<html>", "[]", "{}", R"({"metadata":{"resourceVersion":7}})",
                           R"({"metadata":{"resourceVersion":"7"},"items":{}})"}) {
    EXPECT_FALSE(slices.take_list(body)) << body;
  }
  EXPECT_TRUE(slices.take_list(R"({"metadata":{"resourceVersion":"7"}})"));
}

TEST(Slices, Of_several_pages_are_one_list) {
  Slices slices(kPod);
  auto first = Json::parse(list({slice("a", true)}));
  first["metadata"]["continue"] = "1/b";
  ASSERT_TRUE(slices.take_list(first.dump()));
  EXPECT_EQ(slices.next_page(), "1/b");
  ASSERT_TRUE(slices.take_page(list({slice("b", true)})));
  EXPECT_EQ(slices.next_page(), "");
  EXPECT_EQ(slices.ready_in(), (Names{"a", "b"}));
  ASSERT_TRUE(slices.take_list(list({slice("b", true)})));
  EXPECT_EQ(slices.ready_in(), Names{"b"});
}

TEST(KubernetesRequests, Name_the_page) {
  EXPECT_EQ(page_suffix("/x", 50, ""), "?limit=50");
  EXPECT_EQ(page_suffix("/x?y", 6, "aZ9-=&"), "&limit=6&continue=aZ9%2D%3D%26");
}

TEST(KubernetesRequests, Name_the_services_and_the_version) {
  EXPECT_EQ(slices_path(kPod.space, "v1", {}),
            "/apis/discovery.k8s.io/v1/namespaces/models/endpointslices");
  auto const path = slices_path(kPod.space, "v1beta1", {"a", "b"});
  EXPECT_EQ(path,
            "/apis/discovery.k8s.io/v1beta1/namespaces/models/endpointslices"
            "?labelSelector=kubernetes.io%2Fservice-name%20in%20%28a%2Cb%29");
  EXPECT_EQ(watch_suffix(path, "7", 5),
            "&watch=1&resourceVersion=7&allowWatchBookmarks=true&timeoutSeconds=5");
  EXPECT_EQ(watch_suffix("/x", "7", 5),
            "?watch=1&resourceVersion=7&allowWatchBookmarks=true&timeoutSeconds=5");
}

TEST(KubernetesRequests, Carry_the_uid) {
  auto const condition = Json::parse(condition_patch(kPod, "x/y", false, "now"));
  EXPECT_EQ(condition["metadata"]["uid"], "u-1");
  EXPECT_EQ(condition["status"]["conditions"][0]["status"], "False");
  auto const label = Json::parse(label_patch(kPod, "x/y", false));
  EXPECT_EQ(label["metadata"]["uid"], "u-1");
  EXPECT_TRUE(label["metadata"]["labels"]["x/y"].is_null());
}

TEST(KubernetesRequests, Keep_an_event_within_the_limit_of_the_api) {
  auto const event = Json::parse(event_body(kPod, true, std::string(5000, 'x'), "now"));
  EXPECT_EQ(event["message"].get<std::string>().size(), 1024U);
  EXPECT_EQ(event["type"], "Warning");
}

TEST(KubernetesPod, Is_deleted_when_the_api_marks_this_very_pod) {
  auto const grace_of = [](std::string const& metadata) {
    return deletion_grace(kPod, R"({"metadata":{)" + metadata + "}}");
  };
  std::string const deleted = R"("deletionTimestamp":"t","deletionGracePeriodSeconds":)";
  EXPECT_EQ(grace_of(R"("uid":"u-1",)" + deleted + "10"), std::chrono::seconds{10});
  EXPECT_EQ(grace_of(R"("uid":"u-2",)" + deleted + "10"), std::nullopt);
  EXPECT_EQ(grace_of(R"("uid":"u-1")"), std::nullopt);
  EXPECT_EQ(grace_of(R"("uid":"u-1",)" + deleted + "-1"), std::nullopt);
  EXPECT_EQ(grace_of(R"("uid":"u-1",)" + deleted + "1e30"), std::nullopt);
  EXPECT_LT(grace_of(R"("uid":"u-1",)" + deleted + "18446744073709551615"),
            std::chrono::hours{10'000});
  EXPECT_EQ(deletion_grace(kPod, "<html>"), std::nullopt);
}

TEST(KubernetesRequests, Report_why_they_were_refused) {
  EXPECT_EQ(refusal_of(403, R"({"message":"pods is forbidden"})"),
            "HTTP status 403: pods is forbidden");
  EXPECT_EQ(refusal_of(502, "<html>"), "HTTP status 502");
}

}  // namespace
}  // namespace lastcall::discovery::kubernetes
