#include "supervisor/kube/json_patch.hpp"

#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lastcall::kube {
namespace {

Json parsed(char const* text) {
  return Json::parse(text);
}

std::string patch_text(char const* before, char const* after) {
  return patch_between(parsed(before), parsed(after)).dump();
}

TEST(JsonPatch, Equal_documents_have_an_empty_one) {
  EXPECT_EQ(patch_text(R"({"a":[1,{"b":null}]})", R"({"a":[1,{"b":null}]})"), "[]");
}

TEST(JsonPatch, Injected_parts_are_added_at_their_places) {
  EXPECT_EQ(patch_text(R"({"c":[{"name":"a"},{"name":"b"}]})",
                       R"({"c":[{"name":"x"},{"name":"a"},{"name":"y"},{"name":"b"}]})"),
            R"([{"op":"add","path":"/c/0","value":{"name":"x"}},)"
            R"({"op":"add","path":"/c/2","value":{"name":"y"}}])");
  EXPECT_EQ(
      patch_text(R"({"w":["serve"]})", R"({"w":["shim","--","serve"]})"),
      R"([{"op":"add","path":"/w/0","value":"shim"},{"op":"add","path":"/w/1","value":"--"}])");
}

TEST(JsonPatch, An_item_that_grew_is_looked_into) {
  EXPECT_EQ(patch_text(R"({"c":[{"name":"a","env":[]}]})", R"({"c":[{"name":"a","env":[1]}]})"),
            R"([{"op":"add","path":"/c/0/env/0","value":1}])");
}

TEST(JsonPatch, Keys_are_escaped_as_pointers_have_them) {
  EXPECT_EQ(patch_text("{}", R"({"a/b~c":1})"), R"([{"op":"add","path":"/a~1b~0c","value":1}])");
}

TEST(JsonPatch, A_value_that_differs_is_replaced_and_what_is_gone_removed) {
  EXPECT_EQ(patch_text(R"({"a":1,"b":2})", R"({"a":"1"})"),
            R"([{"op":"replace","path":"/a","value":"1"},{"op":"remove","path":"/b"}])");
  EXPECT_EQ(patch_text(R"({"a":[1,2]})", R"({"a":[2,1]})"),
            R"([{"op":"replace","path":"/a","value":[2,1]}])");
}

/// Small documents of few keys and values, so that much of two of them is equal.
class Documents {
 public:
  explicit Documents(unsigned seed) : chance_(seed) {}

  Json make(int depth) {
    switch (below(depth > 0 ? 6 : 4)) {
      case 0:
        return nullptr;
      case 1:
        return below(3);
      case 2:
        return below(2) == 0;
      case 3:
        return std::string(1, static_cast<char>('a' + below(2)));
      case 4: {
        Json list = Json::array();
        for (int i = below(4); i > 0; --i) {
          list.push_back(make(depth - 1));
        }
        return list;
      }
      default: {
        Json map = Json::object();
        for (int i = below(4); i > 0; --i) {
          constexpr char const* kKeys[] = {"name", "a/b", "~", "x"};
          map[kKeys[below(4)]] = make(depth - 1);
        }
        return map;
      }
    }
  }

 private:
  int below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(chance_); }

  std::mt19937 chance_;
};

/// The judge is the other implementation of RFC 6902 at hand.
TEST(JsonPatch, It_makes_the_one_of_the_other_whatever_they_are) {
  for (unsigned seed = 0; seed < 20'000; ++seed) {
    Documents documents(seed);
    Json const before = documents.make(3);
    Json const after = documents.make(3);
    Json const patch = patch_between(before, after);
    // The order of keys is not part of the document.
    nlohmann::json const made = before.patch(patch);
    ASSERT_EQ(made, nlohmann::json(after)) << seed << ": " << before << ' ' << patch;
  }
}

}  // namespace
}  // namespace lastcall::kube
