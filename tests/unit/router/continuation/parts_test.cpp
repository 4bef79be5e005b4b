// The small parts of a continuation, each by itself.
#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "router/continuation/chunk.hpp"
#include "router/continuation/chunk_reader.hpp"
#include "router/continuation/event_reader.hpp"
#include "router/continuation/json_edits.hpp"
#include "router/continuation/limits.hpp"
#include "router/continuation/memory_budget.hpp"
#include "router/continuation/request.hpp"
#include "router/continuation/text_gate.hpp"
#include "router/continuation/token_count.hpp"
#include "router/continuation/verifier.hpp"

namespace lastcall::router::continuation {
namespace {

using namespace std::chrono_literals;

struct Seen {
  Event::Kind kind{};
  std::string data;
  friend bool operator==(Seen const&, Seen const&) = default;
};

/// The chunk of a chat whose one choice has these members.
Chunk chunk_with(std::string& text, std::string const& choice) {
  text = R"({"id":"a","choices":[{)" + choice + "}]}";
  return read_chunk(text);
}

TEST(Chunk, The_last_member_of_a_name_counts_and_null_is_as_if_it_were_missing) {
  std::string text;
  Chunk const twice = chunk_with(
      text, R"("delta":{"content":"a","content":"b"},"finish_reason":"stop","finish_reason":null)");
  ASSERT_TRUE(twice.text);
  EXPECT_EQ(twice.text->text, "b");
  EXPECT_EQ(twice.finish, Finish::none);
  EXPECT_FALSE(twice.is_odd);
  Chunk const gone = chunk_with(text, R"("delta":{"content":"a","content":null},"token_ids":null)");
  EXPECT_FALSE(gone.text);
  EXPECT_FALSE(gone.is_odd);
  Chunk const old_delta = chunk_with(text, R"("delta":{"content":"a"},"delta":{"role":"b"})");
  EXPECT_FALSE(old_delta.text);
  EXPECT_TRUE(old_delta.has_role);
}

TEST(Chunk, What_is_no_choice_of_a_chat_is_odd) {
  std::string text;
  EXPECT_TRUE(chunk_with(text, R"("delta":null)").is_odd);
  EXPECT_TRUE(chunk_with(text, R"("delta":{"other":"a"})").is_odd);
  EXPECT_TRUE(chunk_with(text, R"("delta":{},"index":1)").is_odd);
  EXPECT_TRUE(chunk_with(text, R"("delta":{},"token_ids":["a"])").is_odd);
  EXPECT_FALSE(chunk_with(text, R"("delta":{"other":[]},"index":0,"token_ids":[1])").is_odd);
  EXPECT_TRUE(read_chunk(R"({"choices":[1]})").is_odd);
  EXPECT_TRUE(read_chunk(R"({"choices":[{"delta":{}},{"delta":{}}]})").is_odd);
  Chunk const counts = read_chunk(R"({"choices":[],"usage":{"prompt_tokens":3}})");
  EXPECT_EQ(counts.kind, Chunk::Kind::usage);
  EXPECT_EQ(counts.usage->prompt, 3U);
  EXPECT_EQ(read_chunk(R"({"choices":[1],"choices":null})").kind, Chunk::Kind::error);
  EXPECT_EQ(read_chunk(R"({"choices":[],"error":{}})").kind, Chunk::Kind::error);
}

TEST(Chunk, An_empty_finish_reason_is_none) {
  std::string text;
  EXPECT_EQ(chunk_with(text, R"("delta":{"content":"a"},"finish_reason":"")").finish, Finish::none);
}

TEST(Chunk, Ids_of_the_prompt_are_those_of_the_choice_or_else_those_of_the_chunk) {
  TokenIds const one{1};
  TokenIds const two{2};
  std::string const top = R"({"prompt_token_ids":[2],"choices":[)";
  EXPECT_EQ(read_chunk(top + R"({"prompt_token_ids":[1]}]})").prompt_ids, one);
  EXPECT_EQ(read_chunk(top + R"({"prompt_token_ids":null}]})").prompt_ids, two);
  EXPECT_EQ(read_chunk(top + "]}").prompt_ids, two);
  EXPECT_EQ(read_chunk(top + R"({"prompt_token_ids":"a"}]})").prompt_ids, std::nullopt);
}

TEST(Chunk, Nothing_of_the_event_before_stays_in_a_chunk_that_is_read_into_again) {
  std::string const full =
      R"({"id":"a","prompt_token_ids":[1],"usage":{"prompt_tokens":3,"completion_tokens":4},)"
      R"("choices":[{"index":1,"delta":{"role":"r","content":"c","reasoning":"d",)"
      R"("tool_calls":[1]},)"
      R"("logprobs":{},"finish_reason":"abort","token_ids":[5,6]}]})";
  std::string ids = "0";
  for (int i = 1; i < 1000; ++i) {
    ids.append(",1");
  }
  std::string const long_one = R"({"choices":[{"delta":{},"token_ids":[)" + ids + "]}]}";
  for (std::string const& text : {full, long_one}) {
    for (std::string_view const next :
         {"[DONE]", "{", R"({"error":null)", R"({"error":{}})", R"({"choices":[]})",
          R"({"choices":[{"delta":{"content":""}}]})", R"({"choices":[{"text":"t"}],"usage":null})",
          R"({"choices":[{"token_ids":["a"]}],"usage":{}})"}) {
      ChunkReader reader;
      reader.read(text);
      Chunk const& chunk = reader.read(next);
      Chunk const fresh = read_chunk(next);
      EXPECT_EQ(chunk.kind, fresh.kind) << next;
      EXPECT_EQ(chunk.finish, fresh.finish) << next;
      auto const flags = [](Chunk const& of) {
        return std::array{of.is_odd,           of.has_role,         of.has_tool_calls,
                          of.has_logprobs,     of.text.has_value(), of.reasoning.has_value(),
                          of.usage.has_value()};
      };
      EXPECT_EQ(flags(chunk), flags(fresh)) << next;
      auto const sizes = [](Chunk const& of) {
        return std::array{of.top.size(), of.choice.size(), of.delta.size(), of.counts.size()};
      };
      EXPECT_EQ(sizes(chunk), sizes(fresh)) << next;
      EXPECT_EQ(chunk.ids, fresh.ids) << next;
      EXPECT_EQ(chunk.prompt_ids, fresh.prompt_ids) << next;
      EXPECT_LE(chunk.ids.capacity(), 64U) << "room for a long event is kept";
    }
  }
}

TEST(Chunk, No_memory_of_a_large_event_is_kept) {
  std::string text = R"({"choices":[{"delta":{}}])";
  std::string ids = "0";
  for (int i = 0; i < 10'000; ++i) {
    text.append(R"(,"a":1)");
    ids.append(",1");
  }
  text.append(R"(,"prompt_token_ids":[)" + ids + "]}");
  ChunkReader reader;
  Chunk const& chunk = reader.read(text);
  EXPECT_EQ(chunk.top.size(), 10'002U);
  EXPECT_TRUE(chunk.prompt_ids);
  reader.forget_large(text);
  EXPECT_EQ(chunk.top.capacity(), 0U);
  EXPECT_FALSE(chunk.prompt_ids);
}

/// Everything that was read, with the place of each part in the text.
std::string described(Chunk const& chunk, std::string_view text) {
  std::ostringstream out;
  auto const part = [&](std::string_view of) -> std::ostream& {
    return out << (of.data() == nullptr ? -1 : of.data() - text.data()) << '+' << of.size() << ' ';
  };
  auto const value = [&](json::Value const& of) {
    part(of.text) << static_cast<int>(of.kind) << of.escaped << ' ';
  };
  out << static_cast<int>(chunk.kind) << chunk.is_odd << chunk.has_role << chunk.has_tool_calls
      << chunk.has_logprobs << static_cast<int>(chunk.finish);
  for (auto const* const one : {&chunk.text, &chunk.reasoning}) {
    out << "\ntext ";
    value(one->value_or(json::Value{}));
  }
  for (TokenIds const& ids : {chunk.ids, chunk.prompt_ids.value_or(TokenIds{})}) {
    out << "\nids ";
    std::copy(ids.begin(), ids.end(), std::ostream_iterator<TokenId>(out, " "));
  }
  Usage const usage = chunk.usage.value_or(Usage{});
  out << "\nusage " << chunk.usage.has_value() << usage.prompt << '/' << usage.completion;
  for (auto const* const list : {&chunk.top, &chunk.choice, &chunk.delta, &chunk.counts}) {
    out << "\nmembers ";
    for (json::Member const& member : *list) {
      part(member.key) << member.key_escaped << ' ';
      value(member.value);
    }
  }
  return out.str();
}

// Only the values are read of an event that is like the one before (base/json_layout.hpp).
TEST(ReadChunk, An_event_is_read_in_the_same_way_whichever_event_came_before) {
  std::vector<std::string> const texts{
      R"({"id": "c-1", "created": 1, "choices": [{"index": 0, "delta": {"content": "word "}, )"
      R"("logprobs": null, "finish_reason": null}], "usage": {"prompt_tokens": 9, "a": -1.5e3}})",
      R"({"id":"\u00e9","choices":[{"index":0,"text":"a\"b","token_ids":[1,2],)"
      R"("logprobs":{"a":[1]}}],"usage":null,"prompt_token_ids":[1,2]})",
      R"({"choices":[{"delta":{}},{"delta":{"content":"x"}}],"choices":[{"delta":{"role":"a",)"
      R"("reasoning":null,"tool_calls":[]},"finish_reason":"stop"}],"usage":{},"usage":{"a":3}})",
      R"({"choices":[1,{"delta":{}}],"delta":{"a":1},"usage":[{"prompt_tokens":1}]})",
      R"({"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}})",
      R"( {"choices" : [ { "delta" : { "content" : "h\u00e9" , "content":"2" } } ] , "a":null } )",
      "[DONE]",
      "{}",
  };
  auto const expect_same = [](std::string const& before, std::string const& text) {
    ChunkReader reader;
    reader.read(before);
    EXPECT_EQ(described(reader.read(text), text), described(read_chunk(text), text))
        << before << '\n'
        << text;
  };
  auto const with = [](std::string const& value) {
    return R"({"choices":[{"delta":{"content":)" + value + R"(,"b":1},"index":0}],"c":2})";
  };
  for (std::size_t levels = 20; levels < 40; ++levels) {
    expect_same(with("0"), with(std::string(levels, '[') + std::string(levels, ']')));
  }
  std::string many = R"("a":1)";
  for (int i = 0; i < 100; ++i) {
    many.append(R"(,"a":1)");
  }
  for (std::string const& large :
       {with("\"" + std::string(3000, 'x') + "\""), with("{" + many + "}"),
        R"({"choices":[{"delta":{)" + many + "}}]}"}) {
    expect_same(large, large);
    expect_same(large, with("0"));
    expect_same(with("0"), large);
  }
  for (std::string const& before : texts) {
    for (std::string const& text : texts) {
      expect_same(before, text);
    }
    for (std::size_t at = 0; at <= before.size(); ++at) {
      for (std::string_view const other :
           {"", "\"", "12", "null", "{}", "[1]", R"({"a":1})", R"("x")", "\\n", "\xc3\xa9", " ",
            ",", R"({"delta":{"content":"z"}})", R"("a":1,)", R"("usage":{"prompt_tokens":1},)"}) {
        for (std::size_t const size : {0U, 1U, 4U}) {
          std::string text = before;
          expect_same(before, text.replace(at, size, other));
        }
      }
    }
  }
}

TEST(EventReader, Any_split_gives_the_same_events_and_all_of_the_bytes) {
  std::string const stream =
      ": hi\r\n\r\ndata: a\r\n\r\nevent: error\ndata:b\n\n:x\ndata: c\r\rid: 1\ndata: d\ndata: "
      "e\n\n"
      "event: m\n: inside\ndata: f\n\ndata: half";
  std::vector<Seen> const expected{{Event::Kind::comment, " hi"}, {Event::Kind::blank, ""},
                                   {Event::Kind::data, "a"},      {Event::Kind::error, "b"},
                                   {Event::Kind::comment, "x"},   {Event::Kind::data, "c"},
                                   {Event::Kind::other, ""},      {Event::Kind::data, "f"}};
  for (std::size_t step = 1; step <= stream.size(); ++step) {
    EventReader reader;
    std::vector<Seen> seen;
    std::string bytes;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      std::string_view part = std::string_view(stream).substr(at, step);
      while (auto const event = reader.next(part)) {
        bytes += event->bytes;
        seen.push_back({event->kind, std::string(event->data)});
      }
    }
    EXPECT_EQ(seen, expected) << step;
    EXPECT_EQ(bytes + "data: half", stream) << step;
    EXPECT_EQ(reader.held(), 10U);
  }
}

TEST(EventReader, An_event_that_is_too_large_is_passed_on_as_it_comes) {
  for (std::string const end : {"\n", "\r\n", "\r"}) {
    for (std::size_t const more : {0U, 1U, 2U, 3U, 10U, 70'000U}) {  // the limit is at each byte
      EventReader reader;
      std::string const large(EventReader::kMaxEvent - 10 + more, 'x');
      std::string const stream = "data: a" + end + end + "data: " + large + end + "id: 1" + end +
                                 end + "data: b" + end + end + "data: c" + end + end + ":";
      std::string bytes;
      std::string_view rest = stream;
      std::vector<std::string> seen;
      while (!rest.empty()) {
        std::string_view part = rest.substr(0, rest.size() < 100 ? 1 : 65'535);
        rest.remove_prefix(part.size());
        while (auto const event = reader.next(part)) {
          bytes += event->bytes;
          bool const is_torn = event->kind == Event::Kind::torn;
          if (!is_torn || seen.back() != "torn") {
            seen.emplace_back(is_torn ? "torn" : event->data);
          }
        }
      }
      EXPECT_EQ(bytes + ":", stream);
      EXPECT_EQ(seen, (std::vector<std::string>{"a", "torn", "b", "c"})) << more;
      EXPECT_EQ(reader.held(), 1U);
    }
  }
}

TEST(EventReader, A_comment_that_is_too_large_ends_with_its_line) {
  for (std::string const end : {"\n", "\r\n", "\r"}) {
    for (std::size_t const more : {0U, 1U, 2U, 3U, 10U, 70'000U}) {  // the limit is at each byte
      EventReader reader;
      std::string const large(EventReader::kMaxEvent - 4 + more, 'x');
      std::string const stream = "data: a" + end + end + ": " + large + end + "data: b" + end +
                                 end + "data: c" + end + end + ":";
      std::string bytes;
      std::string_view rest = stream;
      std::vector<std::string> seen;
      while (!rest.empty()) {
        std::string_view part = rest.substr(0, rest.size() < 100 ? 1 : 65'535);
        rest.remove_prefix(part.size());
        while (auto const event = reader.next(part)) {
          bytes += event->bytes;
          bool const is_comment =
              event->kind == Event::Kind::torn_comment || event->kind == Event::Kind::comment;
          if (!is_comment) {
            seen.emplace_back(event->data);
          }
        }
      }
      EXPECT_EQ(bytes + ":", stream);
      EXPECT_EQ(seen, (std::vector<std::string>{"a", "b", "c"})) << more;
    }
  }
}

TEST(EventReader, A_byte_order_mark_before_the_first_event_hides_nothing) {
  std::string const mark = "\xEF\xBB\xBF";
  auto const read = [](std::string const& stream, std::size_t step) {
    EventReader reader;
    std::vector<Seen> seen;
    std::string bytes;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      std::string_view part = std::string_view(stream).substr(at, step);
      while (auto const event = reader.next(part)) {
        bytes += event->bytes;
        seen.push_back({event->kind, std::string(event->data)});
      }
    }
    return std::pair(seen, bytes);
  };
  for (std::size_t step = 1; step < 9; ++step) {
    std::vector<Seen> const two{{Event::Kind::data, "a"}, {Event::Kind::data, "b"}};
    EXPECT_EQ(read(mark + "data: a\n\ndata: b\n\n", step),
              std::pair(two, std::string("data: a\n\ndata: b\n\n")));
    std::vector<Seen> const comment{{Event::Kind::comment, "c"}, {Event::Kind::data, "b"}};
    EXPECT_EQ(read(mark + ":c\ndata: b\n\n", step).first, comment);
    // Only one is removed, only at the start, and only if it is whole.
    std::vector<Seen> const hidden{{Event::Kind::other, ""}, {Event::Kind::data, "b"}};
    EXPECT_EQ(read(mark + mark + "data: a\n\ndata: b\n\n", step).first, hidden);
    std::string const half = mark.substr(0, 2) + "data: a\n\ndata: b\n\n";
    EXPECT_EQ(read(half, step), std::pair(hidden, half));
    std::vector<Seen> const later{{Event::Kind::data, "b"}, {Event::Kind::other, ""}};
    EXPECT_EQ(read("data: b\n\n" + mark + "data: a\n\n", step).first, later);
  }
}

TEST(JsonEdits, Edits_are_made_in_the_order_of_their_places_and_begin_anew_with_each_text) {
  JsonEdits edits;
  for (std::string const& text : {std::string(R"({"a":1,"b":"x","c":{}})"),
                                  std::string(R"( {"a":22,"b":"\n","c":{"d":null}})")}) {
    std::vector<json::Member> members;
    ASSERT_FALSE(json::read_object(text, members));
    edits.begin(text);
    EXPECT_TRUE(edits.empty());
    EXPECT_EQ(edits.text(), text);
    edits.replace(written(*find(members, "c")), "null");
    edits.replace_by_string(written(*find(members, "b")), "say \"it\"");
    edits.replace(written(*find(members, "a")), "-1");
    std::string const before = text.substr(0, text.find('{'));
    EXPECT_EQ(edits.text(), before + R"({"a":-1,"b":"say \"it\"","c":null})");
  }
}

TEST(JsonEdits, Many_edits_before_others_take_no_time_that_grows_with_their_product) {
  constexpr std::size_t kEach = 200'000;  // moving the others for each one takes minutes
  std::string const text(2 * kEach, 'a');
  JsonEdits edits(text);
  for (std::size_t from : {kEach, std::size_t{0}}) {
    for (std::size_t i = 0; i < kEach; ++i) {
      edits.replace(std::string_view(text).substr(from + i, 1), from == 0 ? "b" : "c");
    }
  }
  EXPECT_EQ(edits.text(), std::string(kEach, 'b') + std::string(kEach, 'c'));
}

TEST(JsonEdits, Members_that_go_take_a_comma_with_them_and_nothing_else) {
  std::string const text = R"({ "a" :1 , "x":[1,{"x":2}],"b":"q\"", "x2" : null })";
  std::vector<json::Member> members;
  ASSERT_FALSE(json::read_object(text, members));
  auto const without = [&](std::vector<std::string_view> const& keys) {
    JsonEdits edits(text);
    edits.remove(members, [&](json::Member const& m) {
      return std::find(keys.begin(), keys.end(), m.key) != keys.end();
    });
    return edits.text();
  };
  EXPECT_EQ(without({}), text);
  EXPECT_EQ(without({"a"}), R"({ "x":[1,{"x":2}],"b":"q\"", "x2" : null })");
  EXPECT_EQ(without({"a", "x"}), R"({ "b":"q\"", "x2" : null })");
  EXPECT_EQ(without({"b", "x2"}), R"({ "a" :1 , "x":[1,{"x":2}] })");
  EXPECT_EQ(without({"x", "x2"}), R"({ "a" :1,"b":"q\"" })");
  EXPECT_EQ(without({"a", "x", "b", "x2"}), "{  }");
}

TEST(TextGate, A_stop_string_is_held_from_its_first_byte_and_never_shown) {
  std::string const text = "xENyENDz";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    std::array<std::string, 2> const stops{"END", "never"};
    TextGate gate;
    std::string out;
    bool is_stopped = false;
    for (std::size_t at = 0; at < text.size() && !is_stopped; at += step) {
      auto const passed = gate.pass(text.substr(at, step), {.stops = stops});
      out += passed.text;
      is_stopped = passed.is_stopped;
    }
    EXPECT_EQ(out, "xENy") << step;
    EXPECT_TRUE(is_stopped);
  }
}

TEST(TextGate, A_stop_string_that_is_kept_is_found_over_a_seam_and_ends_the_text) {
  std::array<std::string, 1> const stops{"END"};
  TextGate::Rules const rules{.stops = stops, .keeps_stop = true};
  TextGate gate;
  EXPECT_EQ(gate.pass("xEN", rules).text, "xEN");
  auto const passed = gate.pass("Dy", rules);
  EXPECT_EQ(passed.text, "D");
  EXPECT_TRUE(passed.is_stopped);
}

TEST(TextGate, White_space_at_the_end_waits_for_more) {
  TextGate::Rules const rules{.holds_space = true};
  TextGate gate;
  EXPECT_EQ(gate.pass("a \n", rules).text, "a");
  EXPECT_EQ(gate.held(), " \n");
  EXPECT_EQ(gate.pass("b ", rules).text, " \nb");
  EXPECT_EQ(gate.drop_space(), 1U);
  EXPECT_EQ(gate.flush(), "");
}

TEST(TextGate, White_space_is_what_templates_trim_in_every_script) {
  for (std::string_view const space :
       {" ", "\t", "\r\n", "\v\f", "\x1C\x1F", "\u0085", "\u00A0", "\u1680", "\u2000\u200A",
        "\u2028\u2029", "\u202F", "\u205F", "\u3000\u3000"}) {
    std::string const text = "a\u3000b" + std::string(space);
    EXPECT_EQ(space_at_end(text), space.size()) << text;
    EXPECT_EQ(space_at_end(space), space.size());
  }
  for (std::string_view const text : {"", "a", "\u0080", "\u00C2", "\u200B", "\u2027", "\u3001",
                                      "\xE2\x80", "\x80\x80", "\x85"}) {
    EXPECT_EQ(space_at_end(text), 0U) << text;
  }
}

TEST(TextGate, A_stop_string_is_found_where_white_space_inside_of_it_was_dropped) {
  std::array<std::string, 1> const stops{"END"};
  for (bool const keeps : {false, true}) {
    TextGate::Rules const rules{.stops = stops, .keeps_stop = keeps, .holds_space = true};
    TextGate gate;
    std::string out = gate.pass("xE", rules).text;
    out += gate.pass("\n", rules).text;
    EXPECT_EQ(gate.drop_space(), 1U);
    auto const passed = gate.pass("NDy", rules);  // of another leg, which goes on after "xE"
    EXPECT_TRUE(passed.is_stopped) << keeps;
    EXPECT_EQ(out + passed.text, keeps ? "xEND" : "x");
  }
}

TEST(TextGate, White_space_that_is_held_counts_once_toward_a_stop_string_that_is_kept) {
  std::array<std::string, 1> const stops{"  "};
  TextGate::Rules const rules{.stops = stops, .keeps_stop = true, .holds_space = true};
  TextGate gate;
  std::string out = gate.pass("a ", rules).text;
  auto const passed = gate.pass("b", rules);
  EXPECT_FALSE(passed.is_stopped);
  EXPECT_EQ(out + passed.text, "a b");
}

struct Row {
  std::string_view member;
  Refused by_ids;
  Refused by_text;
};

TEST(Request, The_table_of_keys_decides_what_can_be_continued_and_how) {
  constexpr Refused no = Refused::no;
  for (Row const& row : std::vector<Row>{
           {R"("seed":1)", no, no},
           {R"("n":1)", no, no},
           {R"("use_beam_search":"True")", Refused::several_choices, Refused::several_choices},
           {R"("include_reasoning":0)", Refused::hidden_reasoning, Refused::hidden_reasoning},
           {R"("n":2)", Refused::several_choices, Refused::several_choices},
           {R"("response_format":{"type":"text"})", no, no},
           {R"("response_format":{"type":"json_object"})", Refused::guided_output,
            Refused::guided_output},
           {R"("guided_regex":"a")", Refused::guided_output, Refused::guided_output},
           {R"("guided_regex":null)", no, no},
           {R"("structured_outputs":{"choice":["a"]})", Refused::guided_output,
            Refused::guided_output},
           {R"("presence_penalty":0.0)", no, no},
           {R"("presence_penalty":0.5)", Refused::penalty, Refused::penalty},
           {R"("repetition_penalty":1.1)", no, no},
           {R"("tools":[{}],"tool_choice":"auto")", no, no},
           {R"("tools":[{}],"tool_choice":"required")", Refused::forced_tool, Refused::forced_tool},
           {R"("tool_choice":{"type":"function"})", Refused::forced_tool, Refused::forced_tool},
           {R"("kv_transfer_params":{"a":1})", Refused::disaggregated, Refused::disaggregated},
           {R"("stop":["a"])", no, no},
           {R"("stop":["a"],"skip_special_tokens":false)", Refused::stop_held, no},
           {R"("stop":["a"],"stop_token_ids":[1])", Refused::stop_held, no},
           {R"("stop_token_ids":[1])", no, no},
           {R"("stop":["a"],"no_stop_trim":true)", Refused::stop_held, no},
           {R"("stop":["a"],"min_tokens":0)", no, no},
           {R"("stop":["a"],"min_tokens":1)", Refused::stop_after_minimum,
            Refused::stop_after_minimum},
           {R"("max_tokens":-1)", no, no},
           {R"("max_tokens":"9")", no, no},
           {R"("max_tokens":9.0)", Refused::unreadable, Refused::unreadable},
           {R"("min_tokens":9.0)", Refused::unreadable, Refused::unreadable},
           {R"("stop_regex":"a")", Refused::stop_regex, Refused::stop_regex},
           {R"("include_reasoning":false)", Refused::hidden_reasoning, Refused::hidden_reasoning},
           {R"("logprobs":true)", no, no},
           {R"("logit_bias":{"1":1})", no, no},
           {R"("seed":1,"seed":2)", Refused::duplicate_keys, Refused::duplicate_keys},
           {R"("s\u0065ed":1)", Refused::unreadable, Refused::unreadable},
       }) {
    std::string const body = R"({"messages":[{"role":"user","content":"a"}],"stream":true,)" +
                             std::string(row.member) + "}";
    Request const request = read_request(Endpoint::chat, body, {});
    EXPECT_EQ(label(request.by_ids), label(row.by_ids)) << body;
    EXPECT_EQ(label(request.by_text), label(row.by_text)) << body;
  }
}

TEST(Request, Of_two_limits_an_engine_may_use_the_larger_one) {
  auto const limit = [](Endpoint endpoint, std::string const& members) {
    std::string const body = "{\"stream\":true," + members + "}";
    return read_request(endpoint, body, {}).max_tokens.get();
  };
  std::string const both = R"("max_tokens":30,"max_completion_tokens":11)";
  EXPECT_EQ(limit(Endpoint::chat, both), 30U);
  EXPECT_EQ(limit(Endpoint::chat, R"("max_completion_tokens":11)"), 11U);
  EXPECT_EQ(limit(Endpoint::completions, both), 30U);
  EXPECT_EQ(limit(Endpoint::completions, R"("max_completion_tokens":5)"), 16U);  // it is ignored
  EXPECT_EQ(limit(Endpoint::completions, R"("max_tokens":-1)"), std::nullopt);
  EXPECT_EQ(limit(Endpoint::completions, R"("max_tokens":null)"), 16U);
}

TEST(Request, Lists_that_no_engine_would_take_are_not_kept) {
  auto const refused = [](Endpoint endpoint, std::string const& members) {
    std::string const body = "{\"stream\":true," + members + "}";
    return read_request(endpoint, body, {}).by_text;
  };
  auto const repeated = [](std::string const& text, std::size_t times) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i) {
      all += text;
    }
    return all;
  };
  std::string many;
  for (std::size_t i = 0; i < kMostMembers; ++i) {
    many += "\"" + std::to_string(i) + "\":0,";
  }
  EXPECT_EQ(refused(Endpoint::chat, many + R"("messages":[{"role":"user"}])"), Refused::unreadable);
  EXPECT_EQ(refused(Endpoint::chat, "\"messages\":[" + repeated("{},", 2000) + "{}]"),
            Refused::prompt_kind);
  EXPECT_EQ(refused(Endpoint::chat,
                    "\"messages\":[" + repeated(R"({"role":"user"},)", 2000) + R"({"role":"a"}])"),
            Refused::no);
  EXPECT_EQ(refused(Endpoint::completions,
                    R"("prompt":"x","stop":[)" + repeated(R"("",)", 2000) + R"("a"])"),
            Refused::unreadable);
}

TEST(Request, Stop_strings_for_which_each_event_would_take_long_are_not_searched_for) {
  auto const refused = [](std::size_t strings, std::size_t bytes) {
    std::string body = R"({"stream":true,"prompt":"x","stop":[)";
    for (std::size_t i = 0; i < strings; ++i) {
      body.append(i == 0 ? "\"" : ",\"").append(bytes, 'a').append("\"");
    }
    return read_request(Endpoint::completions, body + "]}", {}).by_text;
  };
  EXPECT_EQ(refused(256, 16), Refused::no);
  EXPECT_EQ(refused(257, 1), Refused::many_stops);
  EXPECT_EQ(refused(1, 4096), Refused::no);
  EXPECT_EQ(refused(1, 4097), Refused::many_stops);
}

TEST(Request, Prompts_and_messages_that_cannot_be_given_back_are_refused) {
  auto const completion = [](std::string const& members) {
    std::string const body = "{\"stream\":true," + members + "}";
    Request const request = read_request(Endpoint::completions, body, {});
    return std::string(label(request.by_ids)) + "/" + std::string(label(request.by_text));
  };
  EXPECT_EQ(completion(R"("prompt":"a")"), "/");
  EXPECT_EQ(completion(R"("prompt":[1,2])"), "/prompt_kind");
  EXPECT_EQ(completion(R"("prompt":["a"])"), "prompt_kind/prompt_kind");
  EXPECT_EQ(completion(R"("prompt":[[1]])"), "prompt_kind/prompt_kind");
  EXPECT_EQ(completion(R"("prompt":[])"), "prompt_kind/prompt_kind");
  EXPECT_EQ(completion(R"("prompt":"a","logprobs":1)"), "/logprobs");
  EXPECT_EQ(completion(R"("prompt":"a","logprobs":1,"stop":"b")"), "logprobs/logprobs");
  EXPECT_EQ(completion(R"("prompt":"a","logprobs":null,"stop":"b")"), "/");
  EXPECT_EQ(completion(R"("prompt":"a","echo":true)"), "echo/echo");
  auto const chat = [](std::string const& messages) {
    std::string const body = "{\"stream\":true," + messages + "}";
    Request const request = read_request(Endpoint::chat, body, {});
    return std::string(label(request.by_ids)) + "/" + std::string(label(request.by_text));
  };
  EXPECT_EQ(chat(R"("messages":[])"), "prompt_kind/prompt_kind");
  EXPECT_EQ(chat(R"("messages":[{"role":"user","content":[{"type":"text","text":"a"}]}])"), "/");
  EXPECT_EQ(chat(R"("messages":[{"role":"user","content":[{"type":"image_url"}]}])"), "media/");
  EXPECT_EQ(chat(R"("messages":[{"role":"assistant","content":"a"}])"), "/assistant_last");
  EXPECT_EQ(chat(R"("messages":[{"role":"\u0061ssistant","content":"a"}])"), "/assistant_last");
  EXPECT_EQ(
      chat(R"("messages":[{"role":"assistant","content":"a"}],"continue_final_message":true)"),
      "/");
}

TEST(Limits, A_request_moves_three_times_by_plan_and_once_by_a_death) {
  MoveLimit limit;
  for (unsigned i = 0; i < MoveLimit::kMostPlanned; ++i) {
    EXPECT_EQ(limit.take(Cause::planned), Refused::no);
  }
  EXPECT_EQ(limit.take(Cause::planned), Refused::moved_too_often);
  EXPECT_EQ(limit.take(cause_of("engine_dead")), Refused::no);
  EXPECT_EQ(limit.take(cause_of("eof")), Refused::engine_died_twice);
  EXPECT_EQ(cause_of("migrated"), Cause::planned);
}

TEST(Limits, A_leg_that_only_its_worker_spoils_is_no_death) {
  for (std::string_view const reason : {"malformed", "empty", "unproven"}) {
    EXPECT_EQ(cause_of(reason), Cause::unproven) << reason;
  }
}

TEST(Limits, A_request_is_known_by_its_target_its_model_and_its_body) {
  Asking const one{.line = "POST /v2/models/a/generate HTTP/1.1", .model = "a", .body = "{}"};
  EXPECT_EQ(hash_of_request(one), hash_of_request(Asking(one)));
  Asking const others[] = {{"POST /v2/models/b/generate HTTP/1.1", "a", "{}"},
                           {one.line, "b", "{}"},
                           {one.line, "a", "{ }"},
                           {one.line, "a{", "}"},
                           {one.line, "a", ""}};
  for (Asking const& other : others) {
    EXPECT_NE(hash_of_request(one), hash_of_request(other)) << other.line << other.body;
  }
}

constexpr std::uint64_t kRequest = 7;

TEST(Limits, A_request_of_which_a_second_engine_died_is_poison_for_ten_minutes) {
  Suspects suspects(2);
  EXPECT_EQ(suspects.verdict(kRequest, 0ms), Suspects::Verdict::unknown);
  suspects.note_death(kRequest, {.number = 1}, 1ms);
  suspects.note_death(kRequest, {.number = 1, .known = 1}, 2ms);  // another one, at the same death
  EXPECT_EQ(suspects.verdict(kRequest, 2ms), Suspects::Verdict::suspect);
  suspects.note_death(kRequest, {.number = 2, .known = 1}, 3ms);
  EXPECT_EQ(suspects.verdict(kRequest, 3ms + Suspects::kSuspected - 1ms),
            Suspects::Verdict::poison);
  EXPECT_EQ(suspects.verdict(kRequest, 3ms + Suspects::kSuspected), Suspects::Verdict::unknown);
  for (std::uint64_t other = 0; other < 9; ++other) {
    suspects.note_death(other, {.number = 1}, 1h);
  }
  EXPECT_EQ(suspects.size(), 2U);
}

TEST(Limits, Twins_whose_engines_die_together_have_seen_one_death_each) {
  Suspects suspects;
  suspects.note_death(kRequest, {.number = 4, .known = 3}, 0ms);
  suspects.note_death(kRequest, {.number = 5, .known = 3}, 0ms);
  suspects.note_death(kRequest, {.number = 3, .known = 2}, 1ms);  // others have reported it first
  EXPECT_EQ(suspects.verdict(kRequest, 1ms), Suspects::Verdict::suspect);
  // One of them has moved on, or its client has sent it again.
  suspects.note_death(kRequest, {.number = 6, .known = 4}, 2ms);
  EXPECT_EQ(suspects.verdict(kRequest, 2ms), Suspects::Verdict::poison);
}

TEST(Limits, An_engine_that_came_back_and_died_again_is_a_second_death) {
  RecentDeaths deaths;
  Suspects suspects;
  auto const die = [&](Time now) {
    DeathNumber const known = deaths.last();
    suspects.note_death(kRequest, {.number = deaths.note("m", 1, now), .known = known}, now);
  };
  die(0ms);
  die(RecentDeaths::kOneDeath - 1ms);
  EXPECT_EQ(suspects.verdict(kRequest, RecentDeaths::kOneDeath), Suspects::Verdict::suspect);
  die(RecentDeaths::kOneDeath);
  EXPECT_EQ(suspects.verdict(kRequest, RecentDeaths::kOneDeath), Suspects::Verdict::poison);
  suspects.clear(kRequest);  // one like it was answered
  EXPECT_EQ(suspects.verdict(kRequest, RecentDeaths::kOneDeath), Suspects::Verdict::unknown);
}

TEST(Deaths, Several_requests_report_one_whichever_models_they_are_of) {
  RecentDeaths deaths;
  DeathNumber const one = deaths.note("m", 1, 0ms);
  EXPECT_NE(deaths.note("m", 2, 0ms), one);
  EXPECT_EQ(deaths.note("m", 1, 1s), one);
  EXPECT_EQ(deaths.note("other", 1, 2s), one);  // the same worker serves both
  EXPECT_FALSE(deaths.are_many("other", 2s));
  EXPECT_NE(deaths.note("other", 1, RecentDeaths::kOneDeath), one);
}

TEST(Deaths, Two_in_a_pool_within_a_minute_are_many) {
  RecentDeaths deaths;
  deaths.note("m", 1, 0ms);
  deaths.note("m", 1, RecentDeaths::kOneDeath - 1ms);  // another request reports the same one
  deaths.note("other", 2, 2s);
  EXPECT_FALSE(deaths.are_many("m", 2s));
  deaths.note("m", 2, 30s);
  EXPECT_TRUE(deaths.are_many("m", 30s));
  EXPECT_FALSE(deaths.are_many("other", 30s));
  EXPECT_TRUE(deaths.are_many("m", RecentDeaths::kManyWithin - 1ms));
  EXPECT_FALSE(deaths.are_many("m", RecentDeaths::kManyWithin));
  deaths.note("m", 2, 70s);  // the worker came back, and died again
  EXPECT_TRUE(deaths.are_many("m", 70s));
}

TEST(Limits, A_fifth_of_the_requests_may_be_sent_again) {
  RetryBudget budget;
  unsigned taken = 0;
  while (budget.take()) {
    ++taken;
  }
  EXPECT_EQ(taken, RetryBudget::kAtRest);
  for (int i = 0; i < 50; ++i) {
    budget.note_request();
  }
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(budget.take()) << i;
  }
  EXPECT_FALSE(budget.take());
}

TEST(TokenCount, A_number_that_no_answer_has_is_taken_for_the_greatest) {
  TokenCount count;
  count.note_text(UINT64_MAX);
  EXPECT_EQ(count.known(), std::optional<std::uint64_t>(kMostTokens));
  count.begin_leg_by_text(false);
  count.note_text(5);
  EXPECT_EQ(count.about(), kMostTokens);
  EXPECT_EQ(count.about_since_prompt(), kMostTokens);
}

TEST(MemoryBudget, The_largest_is_dropped_and_counted_no_more) {
  MemoryBudget budget(1000);
  struct Holder final : MemoryBudget::Holder {};
  std::array<Holder, 3> holders;
  auto const excess_with = [&](std::size_t holder, std::size_t bytes) {
    budget.set(holders.at(holder), bytes);
    return budget.excess();
  };
  EXPECT_EQ(excess_with(0, 600), nullptr);
  EXPECT_EQ(excess_with(1, 100), nullptr);
  EXPECT_EQ(excess_with(1, 200), nullptr);
  EXPECT_EQ(excess_with(2, 300), &holders[0]);
  EXPECT_EQ(excess_with(0, 0), nullptr);
  EXPECT_EQ(budget.used(), 500U);
  EXPECT_EQ(excess_with(1, 0), nullptr);
  EXPECT_EQ(budget.used(), 300U);
  EXPECT_EQ(excess_with(2, 1001), &holders[2]);
  EXPECT_EQ(excess_with(2, 0), nullptr);
  EXPECT_EQ(budget.used(), 0U);
}

TEST(Verifier, By_text_the_prompt_has_grown_by_about_what_was_delivered) {
  auto const verdict = [](TokenIds const& reported) {
    Verifier verifier({.way = Way::by_text, .prompt_ids = TokenIds{1, 2, 3}, .since_ids = 4});
    Chunk chunk;
    chunk.prompt_ids = reported;
    chunk.has_tool_calls = true;
    return verifier.receive(chunk);
  };
  EXPECT_EQ(verdict({1, 2, 3, 4, 5, 6, 7}), Verdict::proven);
  EXPECT_EQ(verdict({1, 2, 9, 4, 5, 6}), Verdict::proven) << "the seam may merge";
  EXPECT_EQ(verdict({1, 9, 9, 4, 5, 6}), Verdict::other_prompt);
  EXPECT_EQ(verdict({1, 2, 3}), Verdict::other_prompt);
  EXPECT_EQ(verdict({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), Verdict::other_prompt);
}

TEST(Refused, The_page_lists_every_reason_with_its_words) {
  std::ifstream file(LASTCALL_SOURCE_DIR "/docs/continuation.md");
  std::string const page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::string table =
      "<!-- refused:begin -->\n| Reason | It cannot be continued because |\n|---|---|\n";
  for (RefusedWords const& words : kRefusedWords) {
    if (words.why != Refused::no) {
      table.append("| `").append(words.label).append("` | ").append(words.text).append(" |\n");
    }
  }
  EXPECT_NE(page.find(table + "<!-- refused:end -->"), std::string::npos) << table;
}

}  // namespace
}  // namespace lastcall::router::continuation
