#include "relay/head_writer.hpp"

#include <string>

#include <gtest/gtest.h>

namespace lastcall::relay {
namespace {

std::string forwarded(std::string_view text, Forwarding facts = {}) {
  RequestHead head;
  Destination destination;
  EXPECT_FALSE(parse_request_head(text, head)) << text;
  EXPECT_FALSE(find_destination(head, destination)) << text;
  EXPECT_FALSE(request_framing(head, facts.body)) << text;
  facts.request_id = "r1";
  std::string out;
  write_request_head(out, head, destination, facts);
  return out;
}

std::string returned(std::string_view text, Returning const& facts) {
  ResponseHead head;
  EXPECT_FALSE(parse_response_head(text, head)) << text;
  std::string out;
  write_response_head(out, head, facts);
  return out;
}

TEST(HeadWriter, A_request_travels_on_with_its_fields_and_what_we_know_of_the_client) {
  EXPECT_EQ(forwarded("POST /x?%41 HTTP/1.1\r\nAccept: a\r\nHost: h:1\r\nX-B: 1\r\nx-b: 2\r\n"
                      "Content-Length: 4\r\nX-Request-Id: old\r\n\r\n",
                      {.client = "10.0.0.9"}),
            "POST /x?%41 HTTP/1.1\r\nHost: h:1\r\nAccept: a\r\nX-B: 1\r\nx-b: 2\r\n"
            "Content-Length: 4\r\nX-Forwarded-For: 10.0.0.9\r\nX-Forwarded-Host: h:1\r\n"
            "X-Forwarded-Proto: http\r\nForwarded: for=10.0.0.9;host=\"h:1\";proto=http\r\n"
            "X-Request-Id: r1\r\n\r\n");
}

TEST(HeadWriter, Fields_of_one_connection_stay_there) {
  std::string const out = forwarded(
      "POST http://a HTTP/1.1\r\nHost: h\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\n"
      "Keep-Alive: 5\r\nTE: trailers\r\nTrailer: x\r\nUpgrade: h2c\r\nProxy-Connection: "
      "x\r\nX-Lastcall-Probe: 1\r\n"
      "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\nX-Yours: 1\r\n\r\n");
  EXPECT_EQ(out,
            "POST / HTTP/1.1\r\nHost: a\r\nX-Yours: 1\r\nTransfer-Encoding: chunked\r\n"
            "X-Forwarded-Host: a\r\nX-Forwarded-Proto: http\r\n"
            "Forwarded: for=unknown;host=\"a\";proto=http\r\nX-Request-Id: r1\r\n\r\n");
}

TEST(HeadWriter, Only_what_the_engines_sdk_reads_travels_of_our_own_fields) {
  std::string const head =
      "GET / HTTP/1.1\r\nHost: h\r\nX-Lastcall-Root: a\r\nx-lastcall-parent: b\r\n"
      "X-Lastcall-Channel: c\r\nX-Lastcall-Router: 1\r\nX-Lastcall-Migration: never\r\n"
      "X-Lastcall-Token: t\r\nX-Lastcall-Scrape: 1\r\nX-Lastcall-Foo: 1\r\n"
      "X_Lastcall_Way: 1\r\n\r\n";
  for (bool const keeps : {false, true}) {
    std::string const out = forwarded(head, {.keeps_underscores = keeps});
    EXPECT_NE(
        out.find("\r\nX-Lastcall-Root: a\r\nx-lastcall-parent: b\r\nX-Lastcall-Channel: c\r\n"),
        std::string::npos);
    for (char const* const name : {"Router", "Migration", "Token", "Scrape", "Foo", "Way"}) {
      EXPECT_EQ(out.find(name), std::string::npos) << name;
    }
  }
}

TEST(HeadWriter, Only_the_proxy_sets_the_way) {
  std::string const out =
      forwarded("GET / HTTP/1.1\r\nHost: h\r\nX-Lastcall-Way: 1\r\n\r\n", {.way = 0xab12});
  EXPECT_NE(out.find("\r\nX-Lastcall-Way: ab12\r\n"), std::string::npos);
  EXPECT_EQ(out.find("Way: 1\r\n"), std::string::npos);
  std::string const without = forwarded("GET / HTTP/1.1\r\nHost: h\r\nX-Lastcall-Way: 1\r\n\r\n");
  EXPECT_EQ(without.find("Way"), std::string::npos);
}

TEST(HeadWriter, A_connection_field_cannot_take_the_length_or_the_key_away) {
  std::string const out = forwarded(
      "POST / HTTP/1.1\r\nHost: h\r\nConnection: content-length, host, authorization\r\n"
      "Content-Length: 4\r\nAuthorization: k\r\n\r\n");
  EXPECT_NE(out.find("\r\nContent-Length: 4\r\n"), std::string::npos);
  EXPECT_NE(out.find("\r\nHost: h\r\n"), std::string::npos);
  EXPECT_NE(out.find("\r\nAuthorization: k\r\n"), std::string::npos);
}

TEST(HeadWriter, A_connection_field_cannot_take_away_what_proxies_vouch_for) {
  std::string const out = forwarded(
      "GET / HTTP/1.1\r\nHost: h\r\nConnection: x-forwarded-for, X-FORWARDED-PROTO, x-real-ip\r\n"
      "Connection: x-forwarded-user, forwarded, cookie, x-mine\r\nX-Forwarded-For: 1.1.1.1\r\n"
      "X-Forwarded-Proto: https\r\nX-Forwarded-User: u\r\nX-Real-IP: 1.1.1.1\r\n"
      "Forwarded: for=1.1.1.1\r\nCookie: c\r\nX-Mine: 1\r\n\r\n",
      {.client = "10.0.0.9", .is_proxy = true});
  for (char const* const field :
       {"X-Forwarded-For: 1.1.1.1, 10.0.0.9", "X-Forwarded-Proto: https", "X-Forwarded-User: u",
        "X-Real-IP: 1.1.1.1", "Forwarded: for=1.1.1.1", "Cookie: c"}) {
    EXPECT_NE(out.find("\r\n" + std::string(field) + "\r\n"), std::string::npos) << field;
  }
  EXPECT_EQ(out.find("X-Mine"), std::string::npos);
}

TEST(HeadWriter, Every_one_of_the_most_connection_options_is_left_out) {
  std::string options;
  std::string fields;
  for (std::size_t i = 0; i < ConnectionOptions::kMost; ++i) {
    std::string const name = "X-" + std::string(i % 5, 'n') + std::to_string(i);
    options += i % 8 == 7 ? "\r\nConnection: " : (i > 0 ? " , " : "");
    options += name;
    fields += (i % 2 == 0 ? name : "x" + name.substr(1)) + ": 1\r\n";
  }
  std::string const out = forwarded("GET / HTTP/1.1\r\nHost: h\r\nConnection: " + options + "\r\n" +
                                    fields + "X-Kept: 1\r\n\r\n");
  EXPECT_EQ(out.find("X-n"), std::string::npos) << out;
  EXPECT_EQ(out,
            "GET / HTTP/1.1\r\nHost: h\r\nX-Kept: 1\r\nX-Forwarded-Host: h\r\n"
            "X-Forwarded-Proto: http\r\nForwarded: for=unknown;host=\"h\";proto=http\r\n"
            "X-Request-Id: r1\r\n\r\n");
}

TEST(HeadWriter, A_trusted_proxy_is_appended_to_those_before_it) {
  std::string const out = forwarded(
      "GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 2.2.2.2\r\n"
      "X-Forwarded-Proto: https\r\n\r\n",
      {.client = "::1", .is_proxy = true});
  EXPECT_NE(out.find("\r\nX-Forwarded-For: 1.1.1.1, 2.2.2.2, ::1\r\n"), std::string::npos) << out;
  EXPECT_NE(out.find("\r\nForwarded: for=\"[::1]\";"), std::string::npos);
  EXPECT_EQ(out.find("X-Forwarded-Proto: http\r\n"), std::string::npos);
}

TEST(HeadWriter, Fields_about_proxies_from_anybody_else_are_written_anew) {
  EXPECT_EQ(forwarded("GET / HTTP/1.1\r\nHost: h\r\nx-forwarded-FOR: 1.1.1.1\r\n"
                      "X-Forwarded-For: 2.2.2.2\r\nX-Forwarded-Proto: https\r\n"
                      "X-Forwarded-Host: evil\r\nX-Forwarded-User: root\r\nX-Real-IP: 1.1.1.1\r\n"
                      "Forwarded: for=1.1.1.1\r\nX-Forwarded: 1\r\nX-Real-IPs: 1\r\n"
                      "Forward: 1\r\nX-F: 1\r\n\r\n",
                      {.client = "203.0.113.9"}),
            "GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded: 1\r\nX-Real-IPs: 1\r\nForward: 1\r\n"
            "X-F: 1\r\nX-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Host: h\r\n"
            "X-Forwarded-Proto: http\r\nForwarded: for=203.0.113.9;host=\"h\";proto=http\r\n"
            "X-Request-Id: r1\r\n\r\n");
}

TEST(HeadWriter, A_name_with_an_underscore_is_left_out_unless_it_is_wanted) {
  constexpr std::string_view kHead =
      "GET / HTTP/1.1\r\nHost: h\r\nX_User: root\r\n_: 1\r\nX-Kept: a_b\r\n\r\n";
  std::string const dropped = forwarded(kHead);
  EXPECT_EQ(dropped.find("X_User"), std::string::npos);
  EXPECT_EQ(dropped.find("_: 1"), std::string::npos);
  EXPECT_NE(dropped.find("\r\nX-Kept: a_b\r\n"), std::string::npos);
  std::string const kept = forwarded(kHead, {.keeps_underscores = true});
  EXPECT_NE(kept.find("\r\nX_User: root\r\n_: 1\r\nX-Kept: a_b\r\n"), std::string::npos);
}

TEST(HeadWriter, Underscores_that_are_wanted_do_not_let_strangers_speak_for_proxies) {
  constexpr std::string_view kHead =
      "GET / HTTP/1.1\r\nHost: h\r\nX_Forwarded_For: 1.1.1.1\r\nx-forwarded_user: u\r\n"
      "X_REAL-IP: 1.1.1.1\r\nX_User: u\r\n\r\n";
  std::string const of_anybody =
      forwarded(kHead, {.client = "203.0.113.9", .keeps_underscores = true});
  EXPECT_NE(of_anybody.find("Host: h\r\nX_User: u\r\nX-Forwarded-For: 203.0.113.9\r\n"),
            std::string::npos)
      << of_anybody;
  std::string const of_proxy =
      forwarded(kHead, {.client = "10.0.0.9", .is_proxy = true, .keeps_underscores = true});
  EXPECT_NE(of_proxy.find("X_Forwarded_For: 1.1.1.1\r\nx-forwarded_user: u\r\n"),
            std::string::npos);
}

TEST(HeadWriter, An_upgrade_keeps_its_protocol) {
  std::string const out =
      forwarded("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
                {.upgrade = true});
  EXPECT_NE(out.find("\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"), std::string::npos);
}

TEST(HeadWriter, A_response_goes_back_with_one_request_id_and_framing_of_this_side) {
  EXPECT_EQ(returned("HTTP/1.0 200 OK\r\nServer: e\r\nConnection: keep-alive\r\n"
                     "x-request-id: cmpl-r1\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n",
                     {.request_id = "r1", .chunked = true}),
            "HTTP/1.1 200 OK\r\nServer: e\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n"
            "X-Request-Id: r1\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(returned("HTTP/1.1 204\r\n\r\n", {.request_id = "r1", .close = true}),
            "HTTP/1.1 204 \r\nX-Request-Id: r1\r\nConnection: close\r\n\r\n");
}

TEST(HeadWriter, A_response_that_cannot_have_a_body_has_no_length) {
  EXPECT_EQ(returned("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\nServer: e\r\n\r\n", {}),
            "HTTP/1.1 204 No Content\r\nServer: e\r\n\r\n");
  EXPECT_EQ(returned("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", {}),
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n");
}

TEST(HeadWriter, A_response_that_asks_for_an_upgrade_names_its_protocol) {
  char const* const head =
      "HTTP/1.1 426 Upgrade Required\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
  EXPECT_EQ(returned(head, {}),
            "HTTP/1.1 426 Upgrade Required\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
  EXPECT_EQ(returned(head, {.close = true}),
            "HTTP/1.1 426 Upgrade Required\r\nConnection: upgrade, close\r\n"
            "Upgrade: websocket\r\n\r\n");
  EXPECT_EQ(returned("HTTP/1.1 426 Upgrade Required\r\n\r\n", {.close = true}),
            "HTTP/1.1 426 Upgrade Required\r\nConnection: close\r\n\r\n");
}

}  // namespace
}  // namespace lastcall::relay
