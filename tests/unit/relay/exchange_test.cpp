// Whole exchanges, in every split of their bytes into two reads, and byte by byte.
#include "relay/exchange.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/relay/whole_exchange.hpp"

namespace lastcall::relay {
namespace {

using test::Read;
using test::read_final;
using test::Result;
using test::run;
using test::Script;
using test::Split;

constexpr std::string_view kGet = "GET /v1/models HTTP/1.1\r\nHost: h\r\n\r\n";
constexpr std::string_view kPost =
    "POST /v1/completions HTTP/1.1\r\nHost: h\r\nContent-Length: 14\r\n\r\n{\"model\":\"m1\"}";
constexpr std::string_view kEvents =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    "d\r\ndata: {\"a\":1}\r\n2\r\n\n\n\r\n12\r\ndata: {\"b\":2}\n\n: x\r\n2\r\n\n\n\r\n"
    "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n";
constexpr std::string_view kEventPayload =
    "data: {\"a\":1}\n\ndata: {\"b\":2}\n\n: x\n\ndata: [DONE]\n\n";

std::string joined(std::string_view a, std::string_view b) {
  return std::string(a).append(b);
}

/// Every split of both sides into two reads, and reads of one, two, three and seven bytes.
void in_every_split(Script const& script, std::function<void(Result const&)> const& check) {
  for (std::size_t at = 0; at <= script.request.size(); ++at) {
    SCOPED_TRACE("request split at " + std::to_string(at));
    check(run(script, {.at = {at}}, {}));
  }
  for (std::size_t at = 0; at <= script.response.size(); ++at) {
    SCOPED_TRACE("response split at " + std::to_string(at));
    check(run(script, {}, {.at = {at}}));
  }
  for (std::size_t const step : {1U, 2U, 3U, 7U}) {
    SCOPED_TRACE("reads of " + std::to_string(step));
    check(run(script, {.step = step}, {.step = step}));
  }
}

TEST(Exchange, A_response_with_a_length_keeps_both_connections) {
  Script const script{.request = std::string(kPost),
                      .response = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Own: 1\r\n\r\nhello"};
  in_every_split(script, [](Result const& result) {
    EXPECT_EQ(result.to_engine, "{\"model\":\"m1\"}");
    Read const read = read_final(result.wire);
    EXPECT_EQ(read.status, 200U);
    EXPECT_EQ(read.payload, "hello");
    EXPECT_TRUE(read.is_complete);
    EXPECT_NE(read.head.find("\r\nX-Request-Id: r1\r\n"), std::string::npos);
    EXPECT_EQ(result.after, After::keep);
    EXPECT_EQ(result.first_bytes, 1);
    EXPECT_TRUE(result.leg_is_clean);
    EXPECT_EQ(result.delivery, DeliveryState::done);
    EXPECT_EQ(result.outcome, lifecycle::Outcome::completed);
  });
}

TEST(Exchange, A_chunked_request_is_chunked_anew_and_what_follows_it_is_left) {
  Script const script{.request =
                          "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                          "3;a=b\r\nabc\r\n4\r\ndefg\r\n0\r\nT: x\r\n\r\nGET /next",
                      .response = "HTTP/1.1 204 No Content\r\n\r\n"};
  in_every_split(script, [](Result const& result) {
    std::string payload;
    EXPECT_TRUE(test::unchunk(result.to_engine, payload));
    EXPECT_EQ(payload, "abcdefg");
    EXPECT_EQ(result.rest, "GET /next");
    EXPECT_EQ(read_final(result.wire).status, 204U);
    EXPECT_EQ(result.delivery, DeliveryState::done);
    EXPECT_TRUE(result.leg_is_clean);
  });
}

TEST(Exchange, A_body_that_could_be_read_in_two_ways_is_refused) {
  Script const script{.request =
                          "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                          "+3\r\nabc\r\n0\r\n\r\n",
                      .response = {}};
  in_every_split(script, [](Result const& result) { EXPECT_EQ(result.refused, 400U); });
}

TEST(Exchange, A_stream_of_events_goes_out_in_whole_events) {
  Script const script{.request = std::string(kPost), .response = std::string(kEvents)};
  in_every_split(script, [](Result const& result) {
    Read const read = read_final(result.wire);
    EXPECT_EQ(read.payload, kEventPayload);
    EXPECT_TRUE(read.is_complete);
    EXPECT_EQ(result.events, 3U);
    EXPECT_EQ(result.bytes, kEventPayload.size());
    EXPECT_EQ(result.first_bytes, 1);
    EXPECT_TRUE(result.leg_is_clean);
  });
}

TEST(EventStream, Its_tokens_are_those_of_the_last_whole_event) {
  auto const usage = [](std::string_view tokens) {
    return R"(data: {"choices":[{"text":"\"completion_tokens\":9"}],"usage":{"prompt_tokens":3,)"
           R"("completion_tokens":)" +
           std::string(tokens) + "}}\n\n";
  };
  EventStream stream;
  stream.scan("data: {\"choices\":[]}\n\n");
  EXPECT_EQ(stream.tokens(), std::nullopt);
  stream.scan(usage("1") + usage(" 12"));
  EXPECT_EQ(stream.tokens(), 12U);
  stream.scan("data: {\"choices\":[]}\n\n" + usage("1").substr(0, usage("1").size() - 4));
  EXPECT_EQ(stream.tokens(), 12U);  // an event that is not whole shows nothing
  stream.scan("3}}\n\n");
  stream.scan(usage("null") + "data: [DONE]\n\n");
  EXPECT_EQ(stream.tokens(), 12U);
  stream.scan(usage("99999999999999999999999"));
  EXPECT_EQ(stream.tokens(), 12U);
  stream.scan(usage("14"));
  EXPECT_EQ(stream.tokens(), 14U);
}

TEST(EventStream, Its_done_is_seen_wherever_reads_split_it) {
  for (std::string const ending : {"\n\n", "\r\n\r\n", "\r\r"}) {
    std::string const done = "data: [DONE]" + ending;
    for (std::size_t at = 0; at <= done.size(); ++at) {
      SCOPED_TRACE(std::to_string(at) + " bytes first");
      EventStream stream;
      for (std::string const& part : {std::string("data: 1" + ending), done.substr(0, at)}) {
        std::size_t const boundary = stream.scan(part).boundary;
        if (stream.whole(part, boundary).has_whole_events) {
          stream.settle();
        }
        stream.rest(part, boundary);
        EXPECT_FALSE(stream.has_sent_done() && at < done.size() - 1);
      }
      std::string const last = done.substr(at);
      std::size_t const boundary = stream.scan(last).boundary;
      stream.whole(last, boundary);
      EXPECT_TRUE(stream.has_sent_done());
    }
  }
}

TEST(EventStream, Its_last_words_are_the_same_wherever_reads_split_them) {
  std::string const line_ends(10, '\n');
  for (auto const& [text, has_done] : {std::pair<std::string, bool>{"data: [DONE]", true},
                                       {"data: [DONE]\r\n\r\n", true},
                                       {"data: [[DONE]\n\n", true},
                                       {"data: [DO[DONE]" + line_ends, true},
                                       {"data: [DONE]" + line_ends + "\n", false},
                                       {"data: [DONE]\n\n:", false},
                                       {"data: [DONE", false},
                                       {"[DO, and so on, NE]", false}}) {
    for (std::size_t at = 0; at <= text.size(); ++at) {
      SCOPED_TRACE(text + ", " + std::to_string(at) + " bytes first");
      EventStream stream;
      stream.note_last_words(text.substr(0, at));
      stream.note_last_words(text.substr(at));
      EXPECT_EQ(stream.has_done_line(), has_done);
    }
  }
}

TEST(Exchange, A_stream_that_is_cut_anywhere_ends_with_an_error_event_and_never_looks_finished) {
  std::size_t const head = kEvents.find("\r\n\r\n") + 4;
  std::size_t const whole = kEvents.rfind("\r\n0\r\n\r\n");
  for (std::size_t cut = 0; cut < whole; ++cut) {
    for (std::size_t const step : {0U, 1U, 5U}) {
      SCOPED_TRACE("cut behind " + std::to_string(cut) + " bytes, reads of " +
                   std::to_string(step));
      Result const result =
          run({.request = std::string(kPost), .response = std::string(kEvents), .cut_after = cut},
              {}, {.step = step});
      Read const read = read_final(result.wire);
      EXPECT_EQ(result.delivery, DeliveryState::cut);
      if (cut < head) {
        EXPECT_EQ(result.farewell, Farewell::refusal);
        EXPECT_EQ(read.status, 503U);
        EXPECT_TRUE(read.is_complete);
        EXPECT_EQ(result.after, After::keep);
        continue;
      }
      EXPECT_EQ(result.farewell, Farewell::error_event);
      EXPECT_FALSE(read.is_complete);
      EXPECT_EQ(result.after, After::close);
      std::size_t const error = read.payload.find("event: error\ndata: {\"error\":");
      ASSERT_NE(error, std::string::npos);
      std::string const events = read.payload.substr(0, error);
      EXPECT_EQ(kEventPayload.substr(0, events.size()), events);
      // A comment outside of an event is a boundary as well.
      EXPECT_TRUE(events.empty() || events.ends_with("\n\n") || events.ends_with("\n: x\n"));
      std::string const sent = "\"events_sent\":" + std::to_string(result.events);
      EXPECT_NE(read.payload.find(sent), std::string::npos);
    }
  }
}

TEST(Exchange, A_stream_that_is_cut_after_DONE_was_whole) {
  std::size_t const whole = kEvents.rfind("\r\n0\r\n\r\n");
  std::string const part = "b\r\ndata: [DONE]";
  for (std::string const& more : {std::string(), std::string("\r\n6\r\n: part"), part}) {
    SCOPED_TRACE("followed by " + more);
    Script script{.request = std::string(kPost),
                  .response = std::string(kEvents.substr(0, whole)) + more};
    bool const is_malformed = more == part;
    script.engine_ends = true;
    for (bool const in_order : {true, false}) {
      script.engine_ends_in_order = in_order;
      in_every_split(script, [&](Result const& result) {
        Read const read = read_final(result.wire);
        EXPECT_EQ(read.payload, kEventPayload);
        EXPECT_TRUE(read.is_complete);
        EXPECT_EQ(result.leg == ResponseState::malformed, is_malformed);
        EXPECT_EQ(result.farewell, Farewell::last_chunk);
        EXPECT_EQ(result.delivery, DeliveryState::done);
        EXPECT_EQ(result.outcome, lifecycle::Outcome::completed);
        EXPECT_EQ(result.after, After::keep);
      });
    }
    script.cut_after = script.response.size();
    Result const result = run(script, {}, {});
    EXPECT_TRUE(read_final(result.wire).is_complete);
    EXPECT_EQ(result.outcome, lifecycle::Outcome::completed);
  }
}

TEST(Exchange, A_stream_whose_engine_dies_after_DONE_was_whole) {
  Script const script{
      .request = std::string(kPost),
      .response =
          "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
          "2c\r\ndata: [DONE]\n\ndata: {\"error\":{\"code\":500}}\n\n\r\n",
      .engine_may_be_dying = true,
      .dies = true};
  in_every_split(script, [](Result const& result) {
    EXPECT_TRUE(result.held);
    EXPECT_EQ(read_final(result.wire).payload, "data: [DONE]\n\n");
    EXPECT_EQ(result.farewell, Farewell::last_chunk);
  });
}

TEST(Exchange, A_stream_of_a_declared_length_that_is_cut_after_DONE_cannot_be_ended) {
  Script const script{.request = std::string(kPost),
                      .response =
                          "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                          "Content-Length: 30\r\n\r\ndata: [DONE]\n\n",
                      .engine_ends = true};
  in_every_split(script, [](Result const& result) {
    EXPECT_EQ(result.farewell, Farewell::silence);
    EXPECT_EQ(result.after, After::close);
  });
}

TEST(Exchange, An_HTTP_1_0_client_gets_a_connection_that_ends_with_its_response) {
  Script const script{.request = "GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
                      .response =
                          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                          "5\r\nhello\r\n0\r\n\r\n"};
  in_every_split(script, [](Result const& result) {
    Read const read = read_final(result.wire);
    EXPECT_TRUE(read.ends_with_connection);
    EXPECT_EQ(read.payload, "hello");
    EXPECT_EQ(result.after, After::close);
    EXPECT_EQ(result.delivery, DeliveryState::done);
  });
  Script cut = script;
  cut.cut_after = cut.response.size() - 3;
  Result const result = run(cut, {}, {});
  EXPECT_EQ(result.farewell, Farewell::reset);  // an end in order would be taken for the end
}

TEST(Exchange, A_close_delimited_stream_is_complete_where_its_last_line_is) {
  std::string const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
  auto const stream = [&](std::string_view payload, bool in_order) {
    return Script{.request = std::string(kPost),
                  .response = joined(head, payload),
                  .engine_ends = true,
                  .engine_ends_in_order = in_order};
  };
  in_every_split(stream("data: 1\n\ndata: [DONE]", true), [](Result const& result) {
    EXPECT_TRUE(read_final(result.wire).is_complete);
    EXPECT_FALSE(result.leg_is_clean);
  });
  in_every_split(stream("data: 1\n\ndata: 2", true), [](Result const& result) {
    EXPECT_FALSE(read_final(result.wire).is_complete);
    EXPECT_EQ(result.farewell, Farewell::error_event);
  });
  in_every_split(stream("data: 1\n\n", false),
                 [](Result const& result) { EXPECT_FALSE(read_final(result.wire).is_complete); });
}

TEST(Exchange, Interim_answers_pass_save_those_that_were_sent_already) {
  Script const script{
      .request = std::string(kGet),
      .response =
          "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
          "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"};
  in_every_split(script, [](Result const& result) {
    EXPECT_TRUE(result.wire.starts_with("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n"));
    EXPECT_EQ(read_final(result.wire).payload, "ok");
    EXPECT_EQ(result.first_bytes, 1);
  });
}

TEST(Exchange, The_answer_to_a_HEAD_has_no_body_whatever_its_fields_are) {
  Script const script{.request = "HEAD /x HTTP/1.1\r\nHost: h\r\n\r\n",
                      .response = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"};
  in_every_split(script, [](Result const& result) {
    EXPECT_TRUE(read_final(result.wire, true).is_complete);
    EXPECT_TRUE(result.leg_is_clean);
  });
}

TEST(Exchange, An_upgrade_makes_a_tunnel_only_for_a_client_that_has_asked) {
  std::string const answer =
      "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nany \r\n\r\n";
  Script const asked{
      .request = "GET /x HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
      .response = answer,
      .engine_ends = true};
  in_every_split(asked, [](Result const& result) {
    EXPECT_EQ(read_final(result.wire).status, 101U);
    EXPECT_TRUE(result.wire.ends_with("\r\n\r\nany \r\n\r\n"));
    EXPECT_EQ(result.request, RequestState::tunnel);
    EXPECT_EQ(result.delivery, DeliveryState::done);
    EXPECT_EQ(result.after, After::close);
  });
  in_every_split({.request = std::string(kGet), .response = answer}, [](Result const& result) {
    EXPECT_EQ(result.leg, ResponseState::malformed);
    EXPECT_EQ(read_final(result.wire).status, 502U);
  });
}

TEST(Exchange, An_invalid_response_is_a_502_and_a_body_that_breaks_ends_short) {
  in_every_split(
      {.request = std::string(kGet), .response = "HTTP/1.1 200 OK\r\n folded: x\r\n\r\n"},
      [](Result const& result) {
        EXPECT_EQ(result.farewell, Farewell::refusal);
        EXPECT_EQ(read_final(result.wire).status, 502U);
      });
  in_every_split({.request = std::string(kGet),
                  .response = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcX"},
                 [](Result const& result) {
                   EXPECT_EQ(result.farewell, Farewell::silence);
                   EXPECT_EQ(read_final(result.wire).payload, "abc");
                   EXPECT_FALSE(read_final(result.wire).is_complete);
                 });
}

TEST(Exchange, A_connection_on_which_more_came_than_was_asked_for_is_not_used_again) {
  Script const script{.request = std::string(kGet),
                      .response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK"};
  Result const result = run(script, {}, {});
  EXPECT_EQ(read_final(result.wire).payload, "ok");
  EXPECT_FALSE(result.leg_is_clean);
}

TEST(Exchange, An_answer_before_the_end_of_the_request_ends_both_connections) {
  Script const script{.request = "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nabc",
                      .response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"};
  in_every_split(script, [](Result const& result) {
    EXPECT_EQ(result.request, RequestState::body);
    EXPECT_EQ(result.after, After::linger);
    EXPECT_NE(read_final(result.wire).head.find("\r\nConnection: close\r\n"), std::string::npos);
    EXPECT_FALSE(result.leg_is_clean);
  });
}

TEST(Exchange, An_error_that_may_be_a_death_is_held_and_goes_on_unchanged_when_it_was_none) {
  std::string const answer = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\n\r\noops";
  in_every_split({.request = std::string(kPost), .response = answer, .engine_may_be_dying = true},
                 [](Result const& result) {
                   EXPECT_TRUE(result.held);
                   EXPECT_EQ(read_final(result.wire).status, 500U);
                   EXPECT_EQ(read_final(result.wire).payload, "oops");
                   EXPECT_EQ(result.outcome, lifecycle::Outcome::error);
                 });
  in_every_split({.request = std::string(kPost),
                  .response = answer,
                  .engine_may_be_dying = true,
                  .dies = true},
                 [](Result const& result) {
                   EXPECT_EQ(result.farewell, Farewell::refusal);
                   EXPECT_EQ(read_final(result.wire).status, 502U);
                   EXPECT_EQ(result.wire.find("oops"), std::string::npos);
                 });
}

TEST(Exchange, An_error_event_is_held_with_all_that_follows_it) {
  std::string const stream =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
      "9\r\ndata: 1\n\n\r\n1e\r\ndata: {\"error\":{\"code\":500}}\n\n\r\n"
      "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n";
  std::string const payload = "data: 1\n\ndata: {\"error\":{\"code\":500}}\n\ndata: [DONE]\n\n";
  Script script{.request = std::string(kPost), .response = stream, .engine_may_be_dying = true};
  in_every_split(script, [&](Result const& result) {
    EXPECT_TRUE(result.held);
    EXPECT_EQ(read_final(result.wire).payload, payload);
    EXPECT_TRUE(read_final(result.wire).is_complete);
    EXPECT_EQ(result.events, 3U);
    EXPECT_EQ(result.outcome, lifecycle::Outcome::error);
  });
  script.dies = true;
  in_every_split(script, [](Result const& result) {
    std::string const reported = read_final(result.wire).payload;
    EXPECT_TRUE(reported.starts_with("data: 1\n\nevent: error\ndata: {\"error\":"));
    EXPECT_EQ(reported.find("\"code\":500"), std::string::npos);
    EXPECT_EQ(result.events, 1U);
  });
}

TEST(Exchange, Held_output_goes_on_in_whole_events) {
  std::string const stream =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
      "2b\r\ndata: {\"error\":{\"code\":500}}\n\ndata: half a \r\n";
  Script script{.request = std::string(kPost),
                .response = stream,
                .engine_may_be_dying = true,
                .cut_after = stream.size()};
  Result const result = run(script, {}, {});
  EXPECT_TRUE(result.held);
  EXPECT_EQ(result.farewell, Farewell::error_event);
  EXPECT_NE(result.wire.find("{\"code\":500}}\n\n"), std::string::npos);
  EXPECT_EQ(result.wire.find("half a"), std::string::npos);
}

TEST(Exchange, The_first_byte_of_a_stream_is_that_of_its_body) {
  std::size_t const head = kEvents.find("\r\n\r\n") + 4;
  Script script{.request = std::string(kPost), .response = std::string(kEvents.substr(0, head))};
  EXPECT_EQ(run(script, {}, {}).delivery, DeliveryState::opened);
  EXPECT_EQ(run(script, {}, {}).first_bytes, 0);
  script.response = kEvents.substr(0, head + 4);
  EXPECT_EQ(run(script, {}, {}).delivery, DeliveryState::flowing);
}

TEST(Exchange, A_draining_process_closes_connections_with_their_answers) {
  Result const result = run({.request = std::string(kGet),
                             .response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
                             .is_closing = true},
                            {}, {});
  EXPECT_EQ(result.after, After::close);
  EXPECT_NE(result.wire.find("\r\nConnection: close\r\n"), std::string::npos);
}

// --- what an exchange waits for, and when it may begin again -------------------------------------

Exchange exchange_of(std::string_view request) {
  RequestReader reader;
  TakenHead taken;
  EXPECT_EQ(reader.read(request, {.head = 1024, .body = {}}, taken),
            RequestReader::Found::complete);
  return {"r1", taken.framing, taken.asked};
}

class Calm final : public Surroundings {
 public:
  bool engine_may_be_dying() const override { return false; }
  bool is_closing() const override { return false; }
};

TEST(RequestReader, An_offer_of_protocols_that_is_too_long_is_no_offer) {
  auto const is_upgrade = [](std::string const& protocols) {
    RequestReader reader;
    TakenHead taken;
    std::string const head =
        "GET /x HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: " + protocols + "\r\n\r\n";
    EXPECT_EQ(reader.read(head, {.head = 32'768, .body = {}}, taken),
              RequestReader::Found::complete);
    return taken.asked.is_upgrade;
  };
  EXPECT_TRUE(is_upgrade("a, websocket"));
  EXPECT_FALSE(is_upgrade("a, h2c"));
  EXPECT_TRUE(is_upgrade(std::string(256, 'a')));
  EXPECT_FALSE(is_upgrade(std::string(257, 'a')));
}

TEST(Exchange, It_waits_for_the_request_then_for_the_engine) {
  Exchange exchange = exchange_of(kPost.substr(0, kPost.find("\r\n\r\n") + 4));
  EXPECT_EQ(exchange.awaited(true), Awaited::request);
  EXPECT_EQ(exchange.awaited(false), Awaited::first_byte);  // no room: the engine has to take some
  std::string body(14, 'x');
  exchange.request().take(body, std::chrono::milliseconds(1), {});
  EXPECT_EQ(exchange.awaited(true), Awaited::first_byte);
  std::string wire;
  std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nh";
  exchange.receive(head, std::chrono::milliseconds(2), Calm(), wire);
  EXPECT_EQ(exchange.awaited(true), Awaited::more);
}

TEST(Exchange, A_request_is_sent_again_once_and_only_where_that_does_no_harm) {
  Exchange get = exchange_of(kGet);
  get.request().to_engine().bytes() = "GET";
  get.request().to_engine().took(3);
  EXPECT_FALSE(get.may_repeat(false));  // a fresh connection shows that the engine is ill
  EXPECT_TRUE(get.may_repeat(true));
  get.request().to_engine().repeat();
  EXPECT_EQ(get.request().to_engine().unsent(), "GET");
  EXPECT_FALSE(get.may_repeat(true));
  EXPECT_EQ(get.response().ended(true), ResponseSide::Ending::failed);

  Exchange post = exchange_of(kPost.substr(0, kPost.find("\r\n\r\n") + 4));
  EXPECT_TRUE(post.may_repeat(true));
  post.request().to_engine().bytes() = "POST";
  post.request().to_engine().took(1);
  EXPECT_FALSE(post.may_repeat(true));

  Exchange received = exchange_of(kGet);
  std::string wire;
  std::string part = "HTTP/1.1 2";
  received.receive(part, std::chrono::milliseconds(1), Calm(), wire);
  EXPECT_FALSE(received.may_repeat(true));
}

TEST(Exchange, One_that_is_left_to_the_engine_ends_with_the_first_byte_of_its_work) {
  for (std::size_t const step : {1U, 9U, 1000U}) {
    Exchange exchange = exchange_of(kPost.substr(0, kPost.find("\r\n\r\n") + 4));
    std::size_t const head = kEvents.find("\r\n\r\n") + 4;
    std::size_t begun = 0;
    for (std::size_t at = 0; at < kEvents.size() && begun == 0; at += step) {
      std::string piece(kEvents.substr(at, step));
      begun = exchange.engine_has_begun(piece) ? at + piece.size() : 0;
    }
    EXPECT_GT(begun, head);
    EXPECT_LE(begun, std::min(head + step, kEvents.size()));
  }
}

TEST(RequestSide, A_body_that_trickles_is_refused_when_it_is_behind_its_pace) {
  using std::chrono::milliseconds;
  Exchange exchange = exchange_of("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n");
  RequestSide& request = exchange.request();
  RequestSide::Limits const limits{.body = {}, .silence = milliseconds(1'000)};
  milliseconds now{5'000};
  std::string byte(1, 'x');
  for (int i = 0; i < 10; ++i) {
    request.await(now);
    EXPECT_EQ(request.take(byte, now += milliseconds(100), limits).fault.status, 0U);
  }
  request.pause();
  now += milliseconds(60'000);  // no reader
  EXPECT_EQ(request.take(byte, now, limits).fault.status, 0U);
  request.await(now);
  EXPECT_EQ(request.take(byte, now += milliseconds(100), limits).fault.status, 408U);
  EXPECT_EQ(request.state(), RequestState::refused);
}

}  // namespace
}  // namespace lastcall::relay
