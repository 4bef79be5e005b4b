#include "discovery/http_message.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace lastcall::discovery {
namespace {

Instance const kInstance{.dynamo_namespace = "n",
                         .component = "c",
                         .endpoint = "e",
                         .id = 26,
                         .advertise = "http://h:1",
                         .model = "a\"b\n",
                         .pod_uid = "p"};

TEST(HttpMessage, Without_a_template_has_everything) {
  auto const message = nlohmann::json::parse(http_message("", "register", kInstance));
  EXPECT_EQ(message["action"], "register");
  EXPECT_EQ(message["instance_id"], 26);
  EXPECT_EQ(message["instance_hex"], "1a");
  EXPECT_EQ(message["model"], "a\"b\n");
}

TEST(HttpMessage, Puts_values_in_as_inside_a_json_text) {
  EXPECT_EQ(http_message("x", "register", kInstance), "x");
  EXPECT_EQ(http_message(R"({"m":"${model}","i":${instance_id}})", "register", kInstance),
            R"({"m":"a\"b\n","i":26})");
  EXPECT_EQ(http_message("${action}${action}", "deregister", kInstance), "deregisterderegister");
}

TEST(HttpMessage, Leaves_what_it_does_not_know) {
  EXPECT_EQ(http_message("${nothing} $ {x} ${", "register", kInstance), "${nothing} $ {x} ${");
}

}  // namespace
}  // namespace lastcall::discovery
