#include "probes/listener/hook_routes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/checks/replacement_watch.hpp"

namespace lastcall::probes {
namespace {

using testing::HasSubstr;

Request request(std::string path, std::string token = {}, std::string method = "GET") {
  Request made{.method = std::move(method), .path = std::move(path), .query = {}, .headers = {}};
  if (!token.empty()) {
    made.headers.emplace_back("x-lastcall-token", std::move(token));
  }
  return made;
}

int status_of(std::variant<Hook, Reply> const& route) {
  auto const* reply = std::get_if<Reply>(&route);
  return reply == nullptr ? 0 : reply->status;
}

TEST(HookRoutes, Each_path_is_its_hook) {
  EXPECT_EQ(std::get<Hook>(route_hook(request("/lifecycle/prestop/engine"), {})), Hook::engine);
  EXPECT_EQ(std::get<Hook>(route_hook(request("/lifecycle/prestop/supervisor", {}, "POST"), {})),
            Hook::supervisor);
}

TEST(HookRoutes, A_path_with_the_older_kubelets_slash_is_the_same) {
  EXPECT_EQ(std::get<Hook>(route_hook(request("//lifecycle/prestop/engine"), {})), Hook::engine);
  EXPECT_EQ(status_of(route_hook(request("///lifecycle/prestop/engine"), {})), 404);
}

TEST(HookRoutes, Without_the_token_nothing_is_shown_of_the_paths) {
  for (char const* path : {"/lifecycle/prestop/engine", "/elsewhere"}) {
    EXPECT_EQ(status_of(route_hook(request(path), "secret")), 401) << path;
    for (char const* token : {"s", "secre", "secretx", "Secret", "xxxxxx"}) {
      EXPECT_EQ(status_of(route_hook(request(path, token), "secret")), 403) << path << token;
    }
  }
  EXPECT_EQ(std::get<Hook>(route_hook(request("/lifecycle/prestop/engine", "secret"), "secret")),
            Hook::engine);
}

TEST(HookRoutes, Without_a_token_nobody_in_the_pod_may_call) {
  Request call = request("/lifecycle/prestop/engine");
  call.caller = {.address = "10.244.0.7", .is_local = true};
  EXPECT_EQ(status_of(route_hook(call, {})), 403);
  call.caller = {.address = "10.244.0.1", .is_local = false};
  EXPECT_EQ(status_of(route_hook(call, {})), 0);
  Request with_token = request("/lifecycle/prestop/engine", "secret");
  with_token.caller.is_local = true;
  EXPECT_EQ(status_of(route_hook(with_token, "secret")), 0);
}

TEST(HookRoutes, A_refusal_names_what_was_expected) {
  auto const unknown = std::get<Reply>(route_hook(request("/lifecycle/prestop"), {}));
  EXPECT_EQ(unknown.status, 404);
  EXPECT_THAT(unknown.body, HasSubstr("/lifecycle/prestop/engine"));
  auto const method =
      std::get<Reply>(route_hook(request("/lifecycle/prestop/engine", {}, "PUT"), {}));
  EXPECT_EQ(method.status, 405);
  EXPECT_THAT(method.body, HasSubstr("\"code\":\"unknown_method\""));
}

TEST(ReplacementEvidence, An_engine_that_was_asked_to_end_is_gone_with_its_port) {
  ReplacementEvidence evidence(false);
  EXPECT_EQ(evidence.accepted(), "");
  EXPECT_NE(evidence.refused(), "");
}

TEST(ReplacementEvidence, A_condemned_engine_with_a_closed_port_may_only_hang) {
  ReplacementEvidence evidence(true);
  EXPECT_EQ(evidence.refused(), "");
  EXPECT_EQ(evidence.refused(), "");
  EXPECT_NE(evidence.accepted(), "");
  ReplacementEvidence asked(true);
  EXPECT_EQ(asked.refused(), "");
  asked.ordered_to_end();
  EXPECT_NE(asked.refused(), "");
}

TEST(ReplacementEvidence, A_condemned_engine_that_answered_is_gone_when_it_does_not) {
  ReplacementEvidence evidence(true);
  EXPECT_EQ(evidence.accepted(), "");
  EXPECT_NE(evidence.refused(), "");
}

TEST(ReplacementEvidence, Another_start_time_is_another_engine) {
  ReplacementEvidence evidence(true);
  EXPECT_EQ(evidence.start_time(1'700'000'000), "");
  EXPECT_EQ(evidence.start_time(1'700'000'000), "");
  EXPECT_NE(evidence.start_time(1'700'000'060), "");
}

}  // namespace
}  // namespace lastcall::probes
