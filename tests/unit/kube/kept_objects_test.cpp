#include "supervisor/kube/kept_objects.hpp"

#include <gtest/gtest.h>

namespace lastcall::kube {
namespace {

KeptNames const kNames{.space = "s", .secret = "t", .service = "w", .registration = "r"};
KeyPair const kPair{.certificate = "C", .key = "K", .authorities = "A"};

Json registration(Json const& bundle) {
  auto const webhook = [](char const* service, char const* space) {
    return Json{{"name", "x"},
                {"clientConfig", {{"service", {{"name", service}, {"namespace", space}}}}}};
  };
  Json made = {{"metadata", {{"uid", "u"}, {"resourceVersion", "7"}}},
               {"webhooks", Json::array({webhook("w", "s"), webhook("other", "s"),
                                         webhook("w", "other"), webhook("w", "s")})}};
  if (!bundle.is_null()) {
    made["webhooks"][0]["clientConfig"]["caBundle"] = bundle;
    made["webhooks"][3]["clientConfig"]["caBundle"] = bundle;
  }
  return made;
}

TEST(KeptObjects, A_secret_has_the_pair_and_goes_with_the_registration) {
  Json const made = new_secret(kNames, kPair, registration(nullptr));
  EXPECT_EQ(made, Json::parse(R"({
    "apiVersion": "v1", "kind": "Secret",
    "metadata": {"name": "t", "labels": {"app.kubernetes.io/managed-by": "lastcall-webhook"},
                 "ownerReferences": [{"apiVersion": "admissionregistration.k8s.io/v1",
                                      "kind": "MutatingWebhookConfiguration", "name": "r",
                                      "uid": "u"}]},
    "type": "kubernetes.io/tls",
    "data": {"ca.crt": "QQ==", "tls.crt": "Qw==", "tls.key": "Sw=="}})"));
  EXPECT_TRUE(is_ours(made));
  EXPECT_EQ(pair_of(made), kPair);
}

TEST(KeptObjects, What_is_no_secret_of_ours_reads_as_empty) {
  EXPECT_EQ(pair_of(Json::parse(R"({"data": {"tls.crt": 7, "tls.key": "?"}})")), KeyPair{});
  EXPECT_EQ(pair_of(nullptr), KeyPair{});
  EXPECT_FALSE(is_ours(Json::parse(R"({"metadata": {"labels": {}}})")));
}

TEST(KeptObjects, Only_webhooks_that_call_the_service_are_to_trust_it) {
  EXPECT_EQ(webhooks_of(registration(nullptr), kNames), 2);
  EXPECT_EQ(trust_patch(registration(nullptr), kNames, "A"), Json::parse(R"([
    {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
    {"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": "QQ=="},
    {"op": "add", "path": "/webhooks/3/clientConfig/caBundle", "value": "QQ=="}])"));
  EXPECT_EQ(trust_patch(registration("QQ=="), kNames, "A"), Json::array());
  EXPECT_EQ(trust_patch(registration("Qg=="), kNames, "A").size(), 3U);
  EXPECT_EQ(webhooks_of(Json::parse(R"({"webhooks": {"a": 1}})"), kNames), 0);
}

TEST(KeptObjects, A_patch_of_the_secret_holds_for_what_was_read) {
  Json secret = new_secret(kNames, {}, registration(nullptr));
  secret["metadata"]["resourceVersion"] = "9";
  EXPECT_EQ(secret_patch(secret, kPair), Json::parse(R"([
    {"op": "test", "path": "/metadata/resourceVersion", "value": "9"},
    {"op": "add", "path": "/data",
     "value": {"ca.crt": "QQ==", "tls.crt": "Qw==", "tls.key": "Sw=="}}])"));
}

}  // namespace
}  // namespace lastcall::kube
