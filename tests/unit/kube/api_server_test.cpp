#include "supervisor/kube/api_server.hpp"

#include <string>

#include <gtest/gtest.h>

namespace lastcall::kube {
namespace {

TEST(ApiServerAnswer, What_would_cost_more_than_its_length_is_no_json) {
  EXPECT_EQ((Answer{.body = R"({"a":1})"}.json()), Json({{"a", 1}}));
  EXPECT_TRUE((Answer{.body = "{"}.json().is_discarded()));
  EXPECT_TRUE((Answer{.body = std::string(100'000, '[')}.json().is_discarded()));
  std::string many = "{";
  for (int i = 0; i < 2000; ++i) {
    many += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":0";
  }
  EXPECT_TRUE((Answer{.body = many + "}"}.json().is_discarded()));
}

}  // namespace
}  // namespace lastcall::kube
