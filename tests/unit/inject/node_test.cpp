#include "inject/node.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lastcall::inject {
namespace {

/// The bytes of the value at a path.
std::string bytes_of(std::string const& text, std::string_view path) {
  Stream const stream = parse_stream(text, "m.yaml");
  if (!stream.problems.empty()) {
    return to_text(stream.problems[0]);
  }
  for (Document const& document : stream.documents) {
    if (Node const* const node = find_path(document.root, path)) {
      return node->end == kNowhere ? "nowhere" : text.substr(node->begin, node->end - node->begin);
    }
  }
  return "not there";
}

struct BytesCase {
  char const* name;
  char const* text;
  char const* path;
  char const* bytes;
};

class Bytes : public testing::TestWithParam<BytesCase> {};

TEST_P(Bytes, A_value_has_the_bytes_that_it_stands_in) {
  EXPECT_EQ(bytes_of(GetParam().text, GetParam().path), GetParam().bytes);
}

BytesCase const kBytesCases[] = {
    {"plain", "a: b c # d\n", "a", "b c"},
    {"plain_with_colon", "a: b:c\n", "a", "b:c"},
    {"plain_with_hash", "a: b#c\n", "a", "b#c"},
    {"plain_of_two_lines", "a: b\n  c\nd: e\n", "a", "b\n  c"},
    {"plain_that_a_comment_ends", "a: b\n# c\nd: e\n", "a", "b"},
    {"plain_with_a_dash_in_its_second_line", "a: b\n  - c\nd: e\n", "a", "b\n  - c"},
    {"plain_before_a_carriage_return", "a: b\r\nc: d\r\n", "a", "b"},
    {"double_quoted", "a: \"b\\\" # c\"\n", "a", "\"b\\\" # c\""},
    {"single_quoted", "a: 'it''s'\n", "a", "'it''s'"},
    {"with_anchor_and_tag", "a: &x !!str b\n", "a", "&x !!str b"},
    {"literal", "a: |\n  b\n\n  # c\n\n# d\ne: f\n", "a", "|\n  b\n\n  # c"},
    {"literal_that_keeps", "a: |+\n  b\n\ne: f\n", "a", "|+\n  b\n"},
    {"literal_with_an_indent", "a: |2\n    b\n   c\ne: f\n", "a", "|2\n    b\n   c"},
    {"literal_without_an_end", "a: |\n  b", "a", "|\n  b"},
    {"folded", "a:\n  b: >-\n    c\n  d: e\n", "a.b", ">-\n    c"},
    {"null_that_is_not_written", "a:\nb: c\n", "a", ""},
    {"null_before_a_key_null", "a:\nnull: c\n", "a", ""},
    {"null_that_is_written", "a: null\nb: c\n", "a", "null"},
    {"tilde", "a: ~ # b\n", "a", "~"},
    {"flow_list", "a: [b, {c: d}, ] # e\n", "a", "[b, {c: d}, ]"},
    {"flow_over_lines", "a: [\n  b, # x\n  c\n  ]\nd: e\n", "a", "[\n  b, # x\n  c\n  ]"},
    {"empty_flow", "a: { }\n", "a", "{ }"},
    {"block_list", "a:\n- b\n- c: d\n# e\nf: g\n", "a", "- b\n- c: d"},
    {"block_map", "a:\n  b: c\n  d:\n    - e\n\nf: g\n", "a", "b: c\n  d:\n    - e"},
    {"list_that_ends_with_nothing", "a:\n  - b\n  -\nc: d\n", "a", "- b\n  -"},
    {"json", "{\"a\": {\"b\": [1, 2]}}", "a", "{\"b\": [1, 2]}"},
    {"json_behind_a_surrogate_pair", R"({"\ud83d\ude00":"\uD83D\uDE00\ud83d\ude00","a":"b"})", "a",
     "\"b\""},
    {"json_with_a_surrogate_pair", R"({"a":"\ud83d\ude00 x","b":"c"})", "a", R"("\ud83d\ude00 x")"},
    {"second_document", "---\nx: y\n--- # z\na: b\n...\n", "a", "b"},
    {"alias", "b: &b c\na: *b\n", "a", "*b"},
    {"behind_a_byte_order_mark",
     "\xef\xbb\xbf"
     "a: b\n",
     "a", "b"},
    {"behind_wide_characters", "x: \xe2\x82\xac\xe2\x82\xac\na: b\n", "a", "b"},
    {"text_that_looks_like_a_mark", "a: |\n  --- x\n  ...\nb: c\n", "a", "|\n  --- x\n  ..."},
};

INSTANTIATE_TEST_SUITE_P(Node, Bytes, testing::ValuesIn(kBytesCases),
                         [](auto const& info) { return std::string(info.param.name); });

TEST(Node, A_line_index_finds_the_places_that_one_search_finds) {
  for (std::string const text : {"", "a", "\n", "a\nbc\n\nd", "a\r\nb\n"}) {
    LineIndex lines(text);
    for (std::size_t at = 0; at < text.size() + 2; ++at) {
      config::Place const place = lines.place_at(at, "m");
      config::Place const expected = place_at(text, at, "m");
      EXPECT_EQ(std::pair(place.line, place.column), std::pair(expected.line, expected.column))
          << at << " in " << text;
    }
  }
}

TEST(Node, A_surrogate_pair_of_json_is_one_character_where_it_is_an_escape) {
  Stream const stream = parse_stream(R"(---
{"a": "\"\ud83d\ude00\\", "\uD834\udd1e\udbff\uDFFF": "\u0041\ud83d\ude00"}
---
quoted: "\ud83d\ude00
  x\\ud83d\ude00"
---
"\\ud83d\\ude00": '\ud83d\ude00'
plain: \ud83d\ude00 # "\ud83d\ude00
block: |
  "\ud83d\ude00"
)",
                                     "m.yaml");
  ASSERT_EQ(stream.documents.size(), 2U);
  Node const& json = stream.documents[0].root;
  EXPECT_EQ(text_of(json, "a"), "\"\xf0\x9f\x98\x80\\");
  EXPECT_EQ(text_of(json, "\xf0\x9d\x84\x9e\xf4\x8f\xbf\xbf"), "A\xf0\x9f\x98\x80");
  Node const& others = stream.documents[1].root;
  for (char const* const key : {R"(\ud83d\ude00)", "plain"}) {
    EXPECT_EQ(text_of(others, key), R"(\ud83d\ude00)");
  }
  EXPECT_EQ(text_of(others, "block"), "\"\\ud83d\\ude00\"\n");
  ASSERT_EQ(stream.problems.size(), 1U);  // a surrogate alone, behind what only looks like one
  EXPECT_EQ(to_text(stream.problems[0]).substr(0, 37), "m.yaml:5:17: not valid YAML: invalid ");
}

TEST(Node, A_document_that_is_no_yaml_is_reported_with_its_own_line) {
  EXPECT_EQ(bytes_of("a: b\n---\nc: [d\n", "a").substr(0, 9), "m.yaml:4:");
  EXPECT_EQ(bytes_of("a: b\nc: \x01\n", "a"),
            "m.yaml:2:4: a control character (0x01), expected UTF-8 text");
  EXPECT_EQ(bytes_of("[a]\nb: c\n", "a").substr(0, 6), "m.yaml");
}

}  // namespace
}  // namespace lastcall::inject
