#include "relay/body_look.hpp"

#include <string>

#include <gtest/gtest.h>

namespace lastcall::relay {
namespace {

struct Seen {
  std::string model;
  std::optional<bool> stream;
  bool operator==(Seen const&) const = default;
};

Seen look(std::string_view body, std::size_t step = 1'000'000) {
  BodyLook look;
  for (std::size_t at = 0; at < body.size(); at += step) {
    look.feed(body.substr(at, step));
  }
  return {look.model(), look.stream()};
}

TEST(BodyLook, Finds_model_and_stream_wherever_they_stand) {
  Seen const expected{"m/x", true};
  for (std::string_view const body :
       {R"({"model":"m/x","stream":true})", R"( { "stream" : true , "model" : "m/x" } )",
        R"({"messages":[{"role":"user","content":"\"model\":\"no\" {}[]"}],"model":"m/x",)"
        R"("n":-1.5e3,"stream":true})",
        R"({"a":{"model":"no","stream":false},"stream":true,"model":"m/x"})"}) {
    for (std::size_t const step : {1U, 3U, 1000U}) {
      EXPECT_EQ(look(body, step), expected) << body << " in steps of " << step;
    }
  }
}

TEST(BodyLook, A_field_that_is_missing_or_of_another_type_stays_unknown) {
  EXPECT_EQ(look(R"({"prompt":"x"})"), (Seen{"", std::nullopt}));
  EXPECT_EQ(look(R"({"model":3,"stream":"true"})"), (Seen{"", std::nullopt}));
  EXPECT_EQ(look(R"({"model":["m"],"stream":null})"), (Seen{"", std::nullopt}));
  EXPECT_EQ(look(R"(["model","m"])"), (Seen{"", std::nullopt}));
  EXPECT_EQ(look("no json at all"), (Seen{"", std::nullopt}));
  EXPECT_EQ(look(R"({"xmodel":"a","modelx":"b","stream":false})"), (Seen{"", false}));
}

TEST(BodyLook, The_first_of_several_counts) {
  EXPECT_EQ(look(R"({"model":"a","model":"b","stream":false,"stream":true})"), (Seen{"a", false}));
}

TEST(BodyLook, Escapes_in_a_model_are_read_as_what_they_mean) {
  for (std::size_t const step : {1U, 1000U}) {
    EXPECT_EQ(look(R"({"model":"Qwen\/Qwen3","stream":true})", step), (Seen{"Qwen/Qwen3", true}));
    EXPECT_EQ(look(R"({"model":"\u0051\ud83d\ude00\"","stream":false})", step),
              (Seen{"Q\U0001F600\"", false}));
    EXPECT_EQ(look(R"({"model":"a\xb","stream":true})", step), (Seen{R"(a\xb)", true}));
  }
}

TEST(BodyLook, It_ends_when_all_is_known_and_after_its_bound) {
  BodyLook known;
  EXPECT_TRUE(known.feed(R"({"model":"m","stream":false,)"));
  BodyLook bounded;
  EXPECT_FALSE(bounded.feed(R"({"prompt":")"));
  EXPECT_TRUE(bounded.feed(std::string(BodyLook::kMaxLook, 'x')));
  EXPECT_EQ(look(R"({"model":")" + std::string(300, 'm') + R"(","stream":true})").model, "");
}

}  // namespace
}  // namespace lastcall::relay
