#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/base64.hpp"
#include "discovery/etcd_instances.hpp"
#include "discovery/etcd_wire.hpp"
#include "discovery/kubernetes_instances.hpp"

namespace lastcall::discovery {
namespace {

using Json = nlohmann::json;
using Urls = std::vector<std::string>;

TEST(EtcdInstances, Are_below_a_namespace_or_one_component_of_it) {
  EXPECT_EQ(etcd::instances_prefix("", ""), "v1/instances/");
  EXPECT_EQ(etcd::instances_prefix("dynamo", ""), "v1/instances/dynamo/");
  EXPECT_EQ(etcd::instances_prefix("dynamo", "decode"), "v1/instances/dynamo/decode/");
}

TEST(EtcdInstances, Are_those_that_the_registry_writes) {
  Instance const instance{.dynamo_namespace = "dynamo",
                          .component = "backend",
                          .endpoint = "generate",
                          .id = 0x1a,
                          .advertise = "http://10.0.0.7:8080",
                          .model = "m",
                          .pod_uid = "u"};
  EXPECT_TRUE(etcd::instance_key(instance).starts_with(
      etcd::instances_prefix(instance.dynamo_namespace, instance.component)));
  EXPECT_EQ(etcd::instance_in("k", etcd::instance_value(instance)),
            (FoundInstance{.url = instance.advertise, .model = "m"}));
  EXPECT_EQ(etcd::instance_in("k", R"({"transport":{"tcp":"10.0.0.7:1/x"}})"), std::nullopt);
  for (char const* const unreadable : {"{", "[]", ""}) {
    auto const found = etcd::instance_in("k", unreadable);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->url, "k");
    EXPECT_EQ(found->problem, "its value is not a JSON object");
  }
}

TEST(EtcdInstances, Read_pages) {
  Json const kv{{"key", base64_encode("k")}, {"value", base64_encode("v")}};
  auto const page = etcd::parse_page(
      Json{{"header", {{"revision", "7"}}}, {"kvs", Json::array({kv})}, {"more", true}}.dump());
  ASSERT_TRUE(page);
  EXPECT_EQ(page->revision, 7);
  EXPECT_TRUE(page->has_more);
  ASSERT_EQ(page->entries.size(), 1U);
  EXPECT_EQ(page->entries[0], (std::pair<std::string, std::string>("k", "v")));
  EXPECT_TRUE(etcd::parse_page(R"({"header":{"revision":"7"}})"));
  EXPECT_FALSE(etcd::parse_page(R"({"kvs":[]})"));
  // A page that announces 'more' and has nothing would be asked for without an end.
  EXPECT_FALSE(etcd::parse_page(R"({"header":{"revision":"7"},"more":true})"));
}

TEST(EtcdInstances, Read_changes_and_the_ends_of_watches) {
  Json const put{
      {"kv", {{"key", base64_encode("k")}, {"value", base64_encode("v")}, {"mod_revision", "8"}}}};
  Json const gone{{"type", "DELETE"}, {"kv", {{"key", base64_encode("l")}, {"mod_revision", "9"}}}};
  auto const watched = etcd::parse_watched(
      Json{{"result", {{"header", {{"revision", "12"}}}, {"events", Json::array({put, gone})}}}}
          .dump());
  ASSERT_TRUE(watched);
  ASSERT_EQ(watched->changes.size(), 2U);
  EXPECT_EQ(watched->changes[0].value, "v");
  EXPECT_EQ(watched->changes[1].key, "l");
  EXPECT_EQ(watched->changes[1].value, std::nullopt);
  EXPECT_EQ(watched->revision, 9);  // later changes may come in the next line
  EXPECT_EQ(watched->error, "");

  auto const compacted = etcd::parse_watched(
      R"({"result":{"header":{"revision":"12"},"canceled":true,"compact_revision":"5"}})");
  ASSERT_TRUE(compacted);
  EXPECT_TRUE(compacted->is_compacted);
  EXPECT_NE(compacted->error, "");

  auto const refused = etcd::parse_watched(R"({"error":{"message":"no leader"}})");
  ASSERT_TRUE(refused);
  EXPECT_FALSE(refused->is_compacted);
  EXPECT_EQ(refused->error, "no leader");
  EXPECT_FALSE(etcd::parse_watched("<html>"));
}

Json endpoint(std::vector<std::string> const& addresses, Json conditions = Json::object()) {
  return {{"addresses", addresses}, {"conditions", std::move(conditions)}};
}

std::string list(Json const& ports, Json const& endpoints) {
  Json const slice{{"metadata", {{"name", "s"}}}, {"ports", ports}, {"endpoints", endpoints}};
  return Json{{"metadata", {{"resourceVersion", "7"}}}, {"items", Json::array({slice})}}.dump();
}

TEST(SliceUrls, Are_those_of_endpoints_that_take_requests) {
  kubernetes::SliceUrls slices("");
  Json const ports = Json::array({{{"name", "http"}, {"port", 8080}}});
  ASSERT_TRUE(slices.take_list(
      list(ports, Json::array({endpoint({"10.0.0.1"}), endpoint({"10.0.0.2"}, {{"ready", true}}),
                               endpoint({"10.0.0.3"}, {{"ready", false}, {"serving", true}}),
                               endpoint({"10.0.0.4"}, {{"ready", true}, {"terminating", true}}),
                               endpoint({"fd00::1"}, {{"ready", nullptr}})}))));
  EXPECT_EQ(slices.urls(),
            (Urls{"http://10.0.0.1:8080", "http://10.0.0.2:8080", "http://[fd00::1]:8080"}));
  ASSERT_TRUE(slices.take_list(R"({"metadata":{"resourceVersion":"9"}})"));
  EXPECT_EQ(slices.urls(), Urls{});
}

TEST(SliceUrls, Choose_the_port_by_name_or_number) {
  Json const ports = Json::array({{{"name", "a"}, {"port", 1}}, {{"name", "b"}, {"port", 2}}});
  auto const with = [&](char const* port) {
    kubernetes::SliceUrls slices(port);
    EXPECT_TRUE(slices.take_list(list(ports, Json::array({endpoint({"h"})}))));
    return slices.urls();
  };
  EXPECT_EQ(with(""), Urls{"http://h:1"});
  EXPECT_EQ(with("b"), Urls{"http://h:2"});
  EXPECT_EQ(with("3"), Urls{"http://h:3"});
  EXPECT_EQ(with("c"), Urls{});
}

TEST(SliceUrls, Name_a_pod_of_both_address_families_once) {
  kubernetes::SliceUrls slices("");
  Json const ports = Json::array({{{"name", "http"}, {"port", 8080}}});
  auto const pod = [](char const* uid, char const* address, bool is_ready) {
    Json json = endpoint({address}, {{"ready", is_ready}});
    json["targetRef"] = {{"kind", "Pod"}, {"name", uid}, {"uid", uid}};
    return json;
  };
  auto const change = [&](char const* name, Json const& endpoints) {
    Json const slice{{"metadata", {{"name", name}, {"resourceVersion", "8"}}},
                     {"ports", ports},
                     {"endpoints", endpoints}};
    EXPECT_TRUE(slices.take_change(Json{{"type", "ADDED"}, {"object", slice}}.dump()));
  };
  change("v6", Json::array({pod("a", "fd00::1", true), pod("b", "fd00::2", true),
                            pod("c", "fd00::3", true)}));
  change("v4", Json::array({pod("a", "10.0.0.1", true), pod("b", "10.0.0.2", false)}));
  // The slice of one family is written before that of the other: what has left it does not come
  // back with its other address.
  EXPECT_EQ(slices.urls(), (Urls{"http://10.0.0.1:8080", "http://[fd00::3]:8080"}));
}

TEST(SliceUrls, Take_bookmarks_and_end_at_errors) {
  kubernetes::SliceUrls slices("");
  EXPECT_TRUE(
      slices.take_change(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"44"}}})"));
  EXPECT_EQ(slices.resource_version(), "44");
  EXPECT_FALSE(slices.take_change(R"({"type":"ERROR","object":{"code":410}})"));
  EXPECT_EQ(slices.resource_version(), "44");
}

}  // namespace
}  // namespace lastcall::discovery
