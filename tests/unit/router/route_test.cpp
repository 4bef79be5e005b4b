#include "router/route.hpp"

#include <gtest/gtest.h>

namespace lastcall::router {
namespace {

TEST(Route, Generation_is_repeated_and_media_is_not_once_begun) {
  EXPECT_EQ(route_of("POST", "/v1/chat/completions").repeat, Repeat::always);
  EXPECT_EQ(route_of("POST", "/v1/embeddings?x=y").endpoint(), "embeddings");
  EXPECT_EQ(route_of("POST", "/v1/audio/transcriptions").repeat, Repeat::unless_begun);
  EXPECT_EQ(route_of("POST", "/v1/responses").repeat, Repeat::unsent);
  EXPECT_EQ(route_of("POST", "/v2/models/a%2Fb/infer").model, "a/b");
}

TEST(Route, Paths_that_operate_an_engine_are_not_routed) {
  for (char const* const target : {"/metrics", "/sleep", "/v1/files", "/v1/load_lora_adapter",
                                   "/lastcall/calls", "/v1/realtime", "/", "/v1/modelsx"}) {
    EXPECT_EQ(route_of("POST", target).routed, Routed::no) << target;
    EXPECT_EQ(route_of("GET", target).routed, Routed::no) << target;
  }
  EXPECT_EQ(route_of("GET", "/v1/responses/r1").routed, Routed::no);
  EXPECT_EQ(route_of("GET", "/v1/models").routed, Routed::list_of_models);
  EXPECT_EQ(route_of("POST", "/v1/models").routed, Routed::no);
}

TEST(Route, One_model_is_named_by_the_path) {
  for (char const* const target : {"/v1/models/a/b", "/v1/models/a%2Fb", "/v1/models/a/b/?x=y"}) {
    EXPECT_EQ(route_of("GET", target).routed, Routed::one_model) << target;
    EXPECT_EQ(route_of("HEAD", target).model, "a/b") << target;
    EXPECT_EQ(route_of("DELETE", target).routed, Routed::no) << target;
  }
  EXPECT_EQ(route_of("GET", "/v1/models/").routed, Routed::list_of_models);
}

TEST(Wanted, Model_and_stream_are_read) {
  Wanted const wanted = wanted_of(R"({"stream":true,"model":"a\/b"})", false);
  EXPECT_EQ(wanted.model, "a/b");
  EXPECT_TRUE(wanted.stream);
  EXPECT_EQ(wanted_of("no JSON", false).model, "");
  // An escape that is malformed, or cut, is left as it is; nothing behind the text is read.
  for (std::string const model : {R"(\u)", R"(\ud8)", R"(\ud800)", R"(\ud83d\u)", R"(a\x)"}) {
    EXPECT_EQ(wanted_of(R"({"stream":true,"model":")" + model + "\"}", false).model, model);
  }
}

TEST(Wanted, A_form_names_its_model_too) {
  std::string const form =
      "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nabc\r\n"
      "--x\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper\r\n--x--\r\n";
  EXPECT_EQ(wanted_of(form, true).model, "whisper");
  EXPECT_EQ(wanted_of("--x--", true).model, "");
  EXPECT_TRUE(is_form("Multipart/Form-Data; boundary=x"));
  EXPECT_FALSE(is_form("multipart/form"));
}

TEST(Wanted, A_form_may_ask_for_a_stream) {
  auto const part = [](std::string const& name, std::string const& value) {
    return "--x\r\nContent-Disposition: form-data; " + name + "\r\n\r\n" + value + "\r\n";
  };
  std::string const model = part("name=\"model\"", "whisper");
  std::string const file = part("name=\"file\"; filename=\"stream\"", "true");
  for (char const* const yes : {"true", "True", "1", "on"}) {
    std::string const stream = part("name=\"stream\"", yes);
    for (std::string const& form : {model + file + stream, stream + file + model}) {
      EXPECT_TRUE(wanted_of(form + "--x--\r\n", true).stream) << form;
      EXPECT_EQ(wanted_of(form + "--x--\r\n", true).model, "whisper") << form;
    }
  }
  for (char const* const no : {"false", "0", "", "true "}) {
    std::string const stream = part("name=\"stream\"", no) + part("name=\"stream\"", "true");
    EXPECT_FALSE(wanted_of(model + stream + "--x--\r\n", true).stream) << no;
  }
  EXPECT_FALSE(wanted_of(model + file + "--x--\r\n", true).stream);
  EXPECT_FALSE(wanted_of(model + part("name=\"text\"", file) + "--x--\r\n", true).stream);
}

TEST(Wanted, Only_a_field_of_a_form_names_its_model) {
  auto const part = [](std::string const& disposition, std::string const& value) {
    return "--x\r\nContent-Disposition: form-data; " + disposition + "\r\n\r\n" + value + "\r\n";
  };
  std::string const model = part("name=\"model\"", "whisper") + "--x--\r\n";
  std::string const content = " name=\"model\"\r\n\r\nother\r\n";
  for (std::string const& file :
       {part("name=\"file\"; filename=\"model\"", "abc"),
        part("filename=\"model\"; name=\"file\"", ""), part("name=\"file\"", content),
        part("name=\"prompt\"", "\r\n\r\n" + content)}) {
    SCOPED_TRACE(file);
    EXPECT_EQ(wanted_of(file + model, true).model, "whisper");
    EXPECT_EQ(wanted_of(file + "--x--\r\n", true).model, "");
  }
  EXPECT_EQ(wanted_of(part("name=\"model\"", "") + "--x--", true).model, "");
  EXPECT_EQ(wanted_of(part("name=\"model\"", std::string(300, 'm')) + "--x--", true).model, "");
}

TEST(Wanted, Whether_a_response_is_kept_and_continued_is_read) {
  EXPECT_TRUE(wanted_of(R"({"input":"x"})", false).is_kept);
  EXPECT_FALSE(wanted_of(R"({"store":false})", false).is_kept);
  EXPECT_TRUE(wanted_of(R"({"input":"\"store\":false"})", false).is_kept);
  EXPECT_TRUE(wanted_of(R"({"previous_response_id":"r"})", false).continues_response);
  EXPECT_FALSE(wanted_of(R"({"previous_response_id":null})", false).continues_response);
}

}  // namespace
}  // namespace lastcall::router
