#include "discovery/etcd_wire.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace lastcall::discovery::etcd {
namespace {

TEST(EtcdValue, Names_its_owner) {
  Instance const instance{.dynamo_namespace = "n",
                          .component = "c",
                          .endpoint = "e",
                          .id = 0x1a,
                          .advertise = "http://h:1",
                          .model = "m",
                          .pod_uid = "pod\"1"};
  EXPECT_EQ(instance_key(instance), "v1/instances/n/c/e/1a");
  EXPECT_EQ(owner_of(instance_value(instance)), "pod\"1");
  auto const value = nlohmann::json::parse(instance_value(instance));
  EXPECT_EQ(value["transport"]["http"], "http://h:1");
  EXPECT_EQ(value["instance_id"], 26);
}

TEST(EtcdValue, Of_others_names_no_owner) {
  for (char const* value : {"", "x", "[]", "7", "{}", R"({"pod_uid":7})"}) {
    EXPECT_EQ(owner_of(value), "") << value;
  }
}

TEST(EtcdAnswer, Of_a_range_is_a_key_or_none) {
  EXPECT_FALSE(parse_range(R"({"header":{"revision":"3"}})")->exists);
  auto const found = parse_range(
      R"({"header":{},"kvs":[{"mod_revision":"7","lease":"12","value":"Zm9v"}],"count":"1"})");
  ASSERT_TRUE(found && found->exists);
  EXPECT_EQ(found->revision, 7);
  EXPECT_EQ(found->lease, 12U);
  EXPECT_EQ(found->value, "foo");
}

TEST(EtcdAnswer, That_is_not_etcds_is_nothing) {
  for (char const* body :
       {"", "null", "[]", "{}", "<html>", R"({"header":7})", R"({"header":{},"kvs":7})",
        R"({"header":{},"kvs":[{},{}]})", R"({"header":{},"kvs":[{"mod_revision":"x"}]})",
        R"({"header":{},"kvs":[{"value":"?"}]})"}) {
    EXPECT_FALSE(parse_range(body)) << body;
    EXPECT_FALSE(parse_transaction(body) && parse_transaction(body)->succeeded) << body;
    EXPECT_FALSE(parse_kept_alive(body)) << body;
    EXPECT_FALSE(parse_token(body)) << body;
  }
}

TEST(EtcdAnswer, Of_a_transaction_has_what_was_found_instead) {
  auto const done = parse_transaction(R"({"header":{"revision":"9"},"succeeded":true})");
  ASSERT_TRUE(done && done->succeeded);
  EXPECT_EQ(done->revision, 9);
  auto const refused =
      parse_transaction(R"({"header":{"revision":"9"},"responses":[{"response_range":{"header":{},)"
                        R"("kvs":[{"mod_revision":4,"value":"Zg=="}],"count":"1"}}]})");
  ASSERT_TRUE(refused && !refused->succeeded);
  EXPECT_TRUE(refused->found.exists);
  EXPECT_EQ(refused->found.revision, 4);
  EXPECT_FALSE(parse_transaction(R"({"header":{"revision":"9"}})"));
}

TEST(EtcdAnswer, Of_a_keep_alive_without_a_life_means_the_lease_is_gone) {
  EXPECT_EQ(parse_kept_alive(R"({"result":{"header":{},"ID":"1","TTL":"10"}})"), 10);
  EXPECT_EQ(parse_kept_alive(R"({"result":{"header":{},"ID":"1"}})"), 0);
  EXPECT_FALSE(parse_kept_alive(R"({"result":{"TTL":"ten"}})"));
}

TEST(EtcdAnswer, Of_a_failure_has_its_words_or_at_least_its_status) {
  EXPECT_EQ(parse_failure(404, R"({"error":"no lease","code":5})").message, "no lease");
  EXPECT_EQ(parse_failure(404, R"({"error":"no lease","code":5})").code, 5);
  EXPECT_EQ(parse_failure(502, "<html>").message, "HTTP status 502");
}

TEST(EtcdAnswer, Of_a_failure_is_told_apart_from_answers_of_others) {
  EXPECT_TRUE(parse_failure(404, R"({"error":"no lease","code":5,"message":"no lease"})").is_etcds);
  EXPECT_TRUE(parse_failure(404, R"({"code":5,"message":"no lease","details":[]})").is_etcds);
  auto const of_stream =
      parse_failure(200, R"({"error":{"grpc_code":16,"http_code":401,"message":"no token"}})");
  EXPECT_TRUE(of_stream.is_etcds);
  EXPECT_EQ(of_stream.message, "no token");
  EXPECT_EQ(of_stream.code, 16);
  for (char const* body : {"", "404 page not found", "<html>", "{}", R"({"error":"not found"})",
                           R"({"code":"5","message":"x"})", R"({"code":5})", "[5]"}) {
    EXPECT_FALSE(parse_failure(404, body).is_etcds) << body;
  }
}

TEST(EtcdAnswer, Of_success_has_a_header) {
  EXPECT_TRUE(is_answer(R"({"header":{"revision":"3"}})"));
  EXPECT_TRUE(is_answer(R"({"result":{"header":{},"TTL":"3"}})"));
  for (char const* body : {"", "<html>hi</html>", "{}", R"({"status":"ok"})", "[]"}) {
    EXPECT_FALSE(is_answer(body)) << body;
  }
}

}  // namespace
}  // namespace lastcall::discovery::etcd
