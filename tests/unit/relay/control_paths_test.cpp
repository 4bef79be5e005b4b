#include "relay/control_paths.hpp"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace lastcall::relay {
namespace {

ControlPaths table() {
  return ControlPaths({{"/metrics", Access::relay, true},
                       {"/sleep", Access::operators, true},
                       {"/update_weights*", Access::refuse, true},
                       {"/v1/load_lora_adapter", Access::refuse, true},
                       {"/v2/repository", Access::refuse, true}});
}

Access access_of(std::string_view target) {
  return table().decide(target).access;
}

TEST(ControlPaths, An_entry_stands_for_its_path_and_what_is_below_and_for_no_neighbour) {
  EXPECT_EQ(access_of("/sleep"), Access::operators);
  EXPECT_EQ(access_of("/sleep?level=2"), Access::operators);
  EXPECT_EQ(access_of("/v2/repository/models/a/load"), Access::refuse);
  EXPECT_EQ(access_of("/sleepy"), Access::relay);
  EXPECT_EQ(access_of("/v1/chat/completions"), Access::relay);
  EXPECT_FALSE(table().decide("/v1/chat/completions").is_control);
  EXPECT_FALSE(table().decide("/sleepy").is_control);
  EXPECT_TRUE(table().decide("/metrics").is_control);
  for (std::string_view const other : {"", "/", "*", "?x", "//"}) {
    EXPECT_EQ(access_of(other), Access::relay) << other;
  }
}

TEST(ControlPaths, A_call_that_puts_the_engine_to_rest_is_known_by_the_entry_that_decides) {
  ControlPaths const paths({{"/pause", Access::operators, true, Rest::begins},
                            {"/resume", Access::operators, true, Rest::ends},
                            {"/work", Access::operators, true, Rest::begins},
                            {"/work", Access::relay, false}});
  EXPECT_EQ(paths.decide("//%70ause?mode=keep").rest, Rest::begins);
  EXPECT_EQ(paths.decide("/resume").rest, Rest::ends);
  EXPECT_EQ(paths.decide("/paused").rest, Rest::none);
  EXPECT_EQ(paths.decide("/work").rest, Rest::none);
}

TEST(ControlPaths, A_star_at_its_end_stands_for_any_end) {
  EXPECT_EQ(access_of("/update_weights"), Access::refuse);
  EXPECT_EQ(access_of("/update_weights_from_disk"), Access::refuse);
  EXPECT_EQ(access_of("/update_weight"), Access::relay);
}

TEST(ControlPaths, No_spelling_of_a_path_changes_what_it_means) {
  for (std::string_view const spelled :
       {"/sleep/",      "/sleep//", "//sleep",   "///sleep//?a", "/%73leep",
        "/%53LEEP",     "/sle%65p", "/Sleep",    "/SLEEP/",      "/%2573leep",
        "/%2%3573leep", "%2fsleep", "/%2fsleep", "/sleep%2f",    "/sleep;a=b",
        "/;x/sleep",    "\\sleep",  "/\\sleep",  "/%5csleep",    "/sleep%3b"}) {
    EXPECT_EQ(access_of(spelled), Access::operators) << spelled;
    EXPECT_FALSE(table().decide(spelled).is_ambiguous) << spelled;
  }
  EXPECT_EQ(access_of("/v1%2fload_lora_adapter"), Access::refuse);
  EXPECT_EQ(access_of("//v1//load_lora_adapter"), Access::refuse);
}

TEST(ControlPaths, A_dot_segment_is_ambiguous_however_it_is_spelled) {
  for (std::string_view const spelled :
       {"/.", "/..", "/./sleep", "/a/../sleep", "/v1/../sleep", "/v1/%2e%2e/sleep",
        "/v1/.%2E/sleep", "/v1/%252e%252e/sleep", "/v1/..%2fsleep", "/v1%2f..%2fsleep",
        "/v1/..;/sleep", "/v1/..;a=b/sleep", "/v1\\..\\sleep", "/v1/%5c../sleep", "/sleep/.",
        "/v1/chat/completions/..?x"}) {
    EXPECT_TRUE(table().decide(spelled).is_ambiguous) << spelled;
  }
  for (std::string_view const harmless :
       {"/.well-known/x", "/v1/...", "/a..b", "/v1/a.", "/v1/models/..a", "/x?a=/../sleep",
        "/v1/models/Qwen%2FQwen3-0.6B"}) {
    EXPECT_FALSE(table().decide(harmless).is_ambiguous) << harmless;
    EXPECT_EQ(access_of(harmless), Access::relay) << harmless;
  }
}

TEST(ControlPaths, A_control_character_is_ambiguous_however_it_is_spelled) {
  for (std::string_view const spelled :
       {"/sleep%0a", "/sleep%0A?a", "/sleep%250a", "/sleep\n", "/%00", "/v1/models/a%7fb",
        "/a;b=%0d", "/v1/load_lora_adapter%0a"}) {
    EXPECT_TRUE(table().decide(spelled).is_ambiguous) << spelled;
  }
  EXPECT_FALSE(table().decide("/v1/models?a=%0a").is_ambiguous);
}

TEST(ControlPaths, The_longest_entry_decides_and_of_two_equal_ones_the_later) {
  ControlPaths const paths({{"/sleep", Access::refuse, true},
                            {"/v1/load_lora_adapter", Access::refuse, true},
                            {"/*", Access::refuse, false},
                            {"/v1/*", Access::relay, false},
                            {"/sleep/", Access::relay, false},
                            {"/v1/files", Access::operators, false}});
  EXPECT_EQ(paths.decide("/v1/chat/completions").access, Access::relay);
  EXPECT_FALSE(paths.decide("/v1/chat/completions").is_control);
  EXPECT_EQ(paths.decide("/v1/load_lora_adapter").access, Access::refuse);
  EXPECT_EQ(paths.decide("/v1/files/7").access, Access::operators);
  EXPECT_EQ(paths.decide("/docs").access, Access::refuse);
  for (std::string_view const root : {"/", "", "?x", "//", "/;a", "/%2f"}) {
    EXPECT_EQ(paths.decide(root).access, Access::refuse) << root;
  }
  EXPECT_EQ(paths.decide("/sleep").access, Access::relay);
  EXPECT_TRUE(paths.decide("/sleep").is_control) << "open or not, it is no work";
}

}  // namespace
}  // namespace lastcall::relay
