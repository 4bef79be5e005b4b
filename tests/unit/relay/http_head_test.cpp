#include "relay/http_head.hpp"

#include <string>

#include <gtest/gtest.h>

namespace lastcall::relay {
namespace {

/// Scans `bytes` in steps of `step`; the end of the head, 0 when there is none, npos when bad.
std::size_t scan(std::string_view bytes, std::size_t step) {
  HeadScanner scanner;
  for (std::size_t size = 0; size < bytes.size();) {
    size = std::min(size + step, bytes.size());
    switch (scanner.scan(bytes.substr(0, size))) {
      case HeadScanner::Found::complete:
        return scanner.length();
      case HeadScanner::Found::bad:
        return std::string_view::npos;
      case HeadScanner::Found::incomplete:
        break;
    }
  }
  return 0;
}

unsigned status_of(std::string_view bytes) {
  if (scan(bytes, bytes.size()) == std::string_view::npos) {
    return 400;
  }
  RequestHead head;
  Framing framing;
  Destination destination;
  if (HeadFault const fault = parse_request_head(bytes, head)) {
    return fault.status;
  }
  if (HeadFault const fault = request_framing(head, framing)) {
    return fault.status;
  }
  return find_destination(head, destination).status;
}

std::string request_with(std::string_view line) {
  return "POST /v1/completions HTTP/1.1\r\nHost: h\r\n" + std::string(line) + "\r\n\r\n";
}

TEST(HttpHead, Is_found_however_its_bytes_arrive) {
  std::string const head = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
  for (std::size_t step = 1; step <= head.size() + 4; ++step) {
    EXPECT_EQ(scan(head + "rest", step), head.size()) << step;
  }
  EXPECT_EQ(scan("\r\n" + head, 1), head.size() + 2) << "an empty line before it is forgiven";
  EXPECT_EQ(scan(head.substr(0, head.size() - 1), 3), 0U);
}

TEST(HttpHead, Bytes_that_cannot_become_a_head_are_refused_without_waiting_for_its_end) {
  for (std::string_view const bytes :
       {"\x16\x03\x01", " GET", "GET / HTTP/1.1\n", "GET / HTTP/1.1\r\nA: b\rc", "\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\n\n", "GET / HTTP/1.1\r\n\rX"}) {
    EXPECT_EQ(scan(bytes, 1), std::string_view::npos) << bytes;
    EXPECT_EQ(scan(bytes, bytes.size()), std::string_view::npos) << bytes;
  }
}

TEST(HttpHead, A_request_keeps_its_fields_in_order_with_case_and_duplicates) {
  std::string const text =
      "POST /a%2Fb?q=%20 HTTP/1.1\r\nhOsT: h:1\r\nX-A: 1\r\nx-a:2 \t\r\nEmpty:\r\n\r\n";
  RequestHead head;
  ASSERT_FALSE(parse_request_head(text, head));
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.target, "/a%2Fb?q=%20");
  EXPECT_EQ(head.version, Version::http11);
  std::string seen;
  for (Field const& field : head.fields) {
    seen += std::string(field.name) + "=" + std::string(field.value) + ";";
  }
  EXPECT_EQ(seen, "hOsT=h:1;X-A=1;x-a=2;Empty=;");
}

TEST(HttpHead, A_plain_request_passes) {
  EXPECT_EQ(status_of(request_with("Content-Length: 3")), 0U);
  EXPECT_EQ(status_of(request_with("Transfer-Encoding: Chunked")), 0U);
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\n\r\n"), 0U);
  EXPECT_EQ(status_of("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"), 0U);
}

TEST(HttpHead, Heads_that_two_servers_could_read_differently_are_refused) {
  for (std::string_view const line : {"Content-Length: 3\r\nTransfer-Encoding: chunked",
                                      "Content-Length: 3\r\nContent-Length: 4",
                                      "Content-Length: 3\r\nContent-Length: 3",
                                      "Content-Length: 3, 3",
                                      "Content-Length: +3",
                                      "Content-Length: -3",
                                      "Content-Length: 0x3",
                                      "Content-Length: 3 3",
                                      "Content-Length:",
                                      "Content-Length: 9999999999999999999",
                                      "Content-Length : 3",
                                      "Content-Length\t: 3",
                                      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
                                      "A: b\r\n folded: c",
                                      "A: b\r\n\tfolded",
                                      ": no name",
                                      "no colon",
                                      "Bad Name: x",
                                      "A: b\x01"
                                      "c",
                                      "A: b\x7f",
                                      "A\x80: b",
                                      "Host: other"}) {
    EXPECT_EQ(status_of(request_with(line)), 400U) << line;
  }
  EXPECT_EQ(status_of(request_with(std::string_view("A: b\0c", 6))), 400U) << "a NUL";
  EXPECT_EQ(status_of(request_with("Transfer-Encoding: gzip, chunked")), 501U);
  EXPECT_EQ(status_of(request_with("Transfer-Encoding: xchunked")), 501U);
  EXPECT_EQ(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400U);
}

TEST(HttpHead, Request_lines_are_read_strictly) {
  auto const with_line = [](std::string_view line) {
    return status_of(std::string(line) + "\r\nHost: h\r\n\r\n");
  };
  EXPECT_EQ(with_line("GET / HTTP/1.1"), 0U);
  for (std::string_view const line :
       {"GET", "GET /", "GET  HTTP/1.1", "GET /a b HTTP/1.1", "G(T / HTTP/1.1", "GET / http/1.1",
        "GET / HTTP/1.1x", "GET /\x80 HTTP/1.1", "GET /#top HTTP/1.1", "GET a HTTP/1.1",
        "GET * HTTP/1.1", "GET http:///x HTTP/1.1", "GET / HTTP/11"}) {
    EXPECT_EQ(with_line(line), 400U) << line;
  }
  EXPECT_EQ(with_line("GET / HTTP/2.0"), 505U);
  EXPECT_EQ(with_line("CONNECT h:443 HTTP/1.1"), 405U);
}

TEST(HttpHead, A_host_is_there_once_and_well_formed) {
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400U);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), 400U);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), 400U);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\"b\r\n\r\n"), 400U);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"), 0U);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost:\r\n\r\n"), 0U);
}

TEST(HttpHead, An_absolute_target_gives_the_host_and_keeps_path_and_query) {
  RequestHead head;
  Destination destination;
  ASSERT_FALSE(parse_request_head("GET http://a:1/x?y HTTP/1.1\r\nHost: b\r\n\r\n", head));
  ASSERT_FALSE(find_destination(head, destination));
  EXPECT_EQ(destination.host, "a:1");
  EXPECT_EQ(destination.target, "/x?y");
  ASSERT_FALSE(parse_request_head("GET HTTP://a HTTP/1.1\r\nHost: b\r\n\r\n", head));
  ASSERT_FALSE(find_destination(head, destination));
  EXPECT_EQ(destination.target, "");
}

TEST(HttpHead, A_connection_list_that_is_too_long_is_refused) {
  auto const status_of = [](std::string const& fields) {
    RequestHead head;
    return parse_request_head("GET / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n", head).status;
  };
  std::string names = "a";
  for (std::size_t i = 1; i < ConnectionOptions::kMost; ++i) {
    names += ",a";
  }
  EXPECT_EQ(status_of("Connection: " + names + "\r\n"), 0U);
  EXPECT_EQ(status_of("Connection: " + names + ",a\r\n"), 400U);
  EXPECT_EQ(status_of("Connection: " + names + "\r\nconnection: a\r\n"), 400U);
  EXPECT_EQ(status_of("Connection: " + std::string(30'000, ',') + "\r\n"), 400U);
  EXPECT_EQ(status_of("Connection:\r\nConnection: \r\n"), 0U);
  EXPECT_EQ(status_of("Connection: " + std::string(ConnectionOptions::kLongest, 'a') + "\r\n"), 0U);
  EXPECT_EQ(status_of("Connection: b" + std::string(ConnectionOptions::kLongest, 'a') + "\r\n"),
            400U);
}

TEST(HttpHead, A_target_is_no_longer_than_it_may_be) {
  auto const status_of_path = [](std::size_t size) {
    std::string const path = "/" + std::string(size - 1, 'a');
    return status_of("GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n");
  };
  EXPECT_EQ(status_of_path(kMaxTarget), 0U);
  EXPECT_EQ(status_of_path(kMaxTarget + 1), 414U);
}

TEST(HttpHead, A_host_is_no_longer_than_a_name_may_be) {
  auto const fault_of = [](std::string const& target, std::string const& host) {
    RequestHead head;
    Destination destination;
    std::string const text = "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
    EXPECT_FALSE(parse_request_head(text, head));
    return find_destination(head, destination).status;
  };
  std::string const longest(kMaxHost, 'h');
  EXPECT_EQ(fault_of("/", longest), 0U);
  EXPECT_EQ(fault_of("/", longest + "h"), 400U);
  EXPECT_EQ(fault_of("http://" + longest + "/", "h"), 0U);
  EXPECT_EQ(fault_of("http://" + longest + "h/", "h"), 400U);
}

TEST(HttpHead, Connection_options_of_many_lines_are_one_set) {
  std::string text = "GET / HTTP/1.1\r\nHost: h\r\n";
  for (char const c : {'d', 'B', 'a', 'c'}) {
    text += std::string("Connection: ") + c + "\r\nconnection:\r\n";
  }
  text += "\r\n";
  RequestHead head;
  ASSERT_FALSE(parse_request_head(text, head));
  for (std::string_view const name : {"a", "A", "b", "c", "D"}) {
    EXPECT_TRUE(head.connection.has(name)) << name;
  }
  EXPECT_FALSE(head.connection.has("e"));
}

TEST(HttpHead, Too_many_fields_are_refused) {
  std::string text = "GET / HTTP/1.1\r\nHost: h\r\n";
  for (std::size_t i = 1; i < kMaxFields; ++i) {
    text += "a: b\r\n";
  }
  EXPECT_EQ(status_of(text + "\r\n"), 0U);
  EXPECT_EQ(status_of(text + "a: b\r\n\r\n"), 431U);
}

}  // namespace
}  // namespace lastcall::relay
