#include "config/text.hpp"

#include <gtest/gtest.h>

namespace lastcall::config {
namespace {

using namespace std::chrono_literals;

TEST(Text, A_duration_is_digits_and_one_unit) {
  EXPECT_EQ(parse_duration("60s").value, 60s);
  EXPECT_EQ(parse_duration("500ms").value, 500ms);
  EXPECT_EQ(parse_duration("2m").value, 2min);
  EXPECT_EQ(parse_duration("1h").value, 1h);
  EXPECT_EQ(parse_duration("0s").value, 0s);
  EXPECT_EQ(parse_duration("007s").value, 7s);
}

TEST(Text, Text_that_is_no_duration_is_an_error_of_its_kind) {
  struct Case {
    char const* text;
    DurationError error;
  };
  for (Case const& c : {Case{"", DurationError::malformed},
                        {"s", DurationError::malformed},
                        {"abc", DurationError::malformed},
                        {"1m30s", DurationError::malformed},
                        {"5 s", DurationError::malformed},
                        {"5S", DurationError::malformed},
                        {"+5s", DurationError::malformed},
                        {"5d", DurationError::malformed},
                        {"60", DurationError::no_unit},
                        {"-5s", DurationError::negative},
                        {"1.5s", DurationError::fraction},
                        {"9223372036854775808ms", DurationError::overflow},
                        {"9223372036854776s", DurationError::overflow},
                        {"2562047788016h", DurationError::overflow}}) {
    ParsedDuration const parsed = parse_duration(c.text);
    EXPECT_FALSE(parsed.value) << c.text;
    EXPECT_EQ(parsed.error, c.error) << c.text;
  }
}

TEST(Text, The_largest_duration_does_not_overflow) {
  EXPECT_EQ(parse_duration("9223372036854775807ms").value, Duration::max());
}

TEST(Text, A_duration_prints_as_people_write_it_and_parses_back) {
  EXPECT_EQ(to_text(Duration{60s}), "60s");
  EXPECT_EQ(to_text(Duration{90s}), "90s");
  EXPECT_EQ(to_text(Duration{2min}), "2m");
  EXPECT_EQ(to_text(Duration{24h}), "24h");
  EXPECT_EQ(to_text(Duration{0}), "0s");
  EXPECT_EQ(to_text(1500ms), "1500ms");
  for (std::int64_t const ms :
       {0LL, 1LL, 999LL, 1000LL, 59'999LL, 60'000LL, 119'000LL, 3'600'000LL, 86'400'001LL}) {
    EXPECT_EQ(parse_duration(to_text(Duration{ms})).value, Duration{ms});
  }
}

TEST(Text, An_address_has_a_host_and_a_port) {
  EXPECT_EQ(parse_address("127.0.0.1:8000"), (Address{"127.0.0.1", 8000}));
  EXPECT_EQ(parse_address("[::]:7090"), (Address{"::", 7090}));
  EXPECT_EQ(parse_address("engine.default.svc:1"), (Address{"engine.default.svc", 1}));
  for (char const* const text :
       {"", ":8000", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "::1:8000",
        "[::1]", "[::1]8000", "[::1:8000", "[localhost]:1", "a b:1", "host:80x", "http://a:1",
        "host:+80", "[fe80::1%eth0]:80"}) {
    EXPECT_FALSE(parse_address(text)) << text;
  }
}

TEST(Text, An_address_prints_with_brackets_around_IPv6) {
  EXPECT_EQ(to_text(Address{"::", 7090}), "[::]:7090");
  EXPECT_EQ(to_text(Address{"127.0.0.1", 1}), "127.0.0.1:1");
}

TEST(Text, A_URL_is_split_and_gets_its_default_port) {
  EXPECT_EQ(parse_url("http://127.0.0.1:8000/health"),
            (Url{"http", {"127.0.0.1", 8000}, "/health"}));
  EXPECT_EQ(parse_url("https://a.b"), (Url{"https", {"a.b", 443}, "/"}));
  EXPECT_EQ(parse_url("http://[::1]?x=1"), (Url{"http", {"::1", 80}, "/?x=1"}));
  EXPECT_EQ(parse_url("nats://n"), (Url{"nats", {"n", 4222}, "/"}));
  for (char const* const text :
       {"", "http://", "http:///x", "http//a", "ftp://a", "HTTP://a", "http://user:pw@a/",
        "http://a:0/", "http://a:99999/", "http://a/b c", "http://a/#x", "//a", "http://a/\n"}) {
    EXPECT_FALSE(parse_url(text)) << text;
  }
}

TEST(Text, A_header_is_a_name_and_a_value) {
  using Header = std::pair<std::string, std::string>;
  EXPECT_EQ(header_of("X-Team: inference"), (Header{"X-Team", "inference"}));
  EXPECT_EQ(header_of("X-Where:here:there "), (Header{"X-Where", "here:there "}));
  EXPECT_EQ(header_of("X-Empty: "), (Header{"X-Empty", ""}));
}

TEST(Text, Plain_text_has_the_type_that_YAML_readers_see) {
  for (char const* const text : {"true", "No", "ON", "y"}) {
    EXPECT_EQ(plain_type(text), PlainType::boolean) << text;
  }
  for (char const* const text : {"5", "-5", "+5", "1.5", ".5", "1e3", "0x1F", "0o17", ".inf",
                                 "-.INF", ".nan", "010", "1e999"}) {
    EXPECT_EQ(plain_type(text), PlainType::number) << text;
  }
  for (char const* const text : {"", "~", "null", "NULL"}) {
    EXPECT_EQ(plain_type(text), PlainType::null) << text;
  }
  for (char const* const text : {"a", "1.2.3", "5s", "-", "+", ".", "0x", "0xg", "1e", "1 2", "inf",
                                 "nan", "127.0.0.1", "::1"}) {
    EXPECT_EQ(plain_type(text), PlainType::text) << text;
  }
}

TEST(Text, Forms_accept_what_they_name_and_nothing_else) {
  struct Case {
    Form const* form;
    std::vector<std::string> good;
    std::vector<std::string> bad;
  };
  for (Case const& c : {
           Case{&kName, {"a", "A-b_c.9"}, {"", "a/b", "a b", "ä"}},
           {&kCleanupPath,
            {"/tmp/x", "/tmp/*", "/tmp/lora-*", "/dev/shm/nccl-*", "/run/x", "/var/tmp/y",
             "//tmp//x", "/data/a/b", "/a/b/..c"},
            {"",         "/",         "/*",          "/tmp",         "//tmp",
             "tmp/x",    "/tmp/../x", "/a/b/../..c", "/tmp/./x",     "/tmp/a\nb",
             "/tmp/",    "/etc/*",    "/home/*",     "/data/lora-*", "/run",
             "/var/tmp", "/dev/shm/", "/*/x/y",      "/var/*/y",     "/*/*"}},
           {&kSocketPath,
            {"/a", "/" + std::string(106, 'x')},
            {"", "/", "a", "@abstract", "/" + std::string(107, 'x')}},
           {&kSignal, {"SIGTERM", "SIGUSR2"}, {"TERM", "SIGKILL", "sigterm", "15"}},
           {&kMetricName, {"vllm:num_requests_running", "_x"}, {"", "1x", "a-b", "a{b}"}},
           {&kSubject, {"lastcall.events", "a"}, {"", "a.*", ">", ".a", "a.", "a..b", "a b"}},
           {&kToken, {"s3cret!"}, {"", "a b", "a\n", "ä"}},
           {&kQualifiedName,
            {"lastcall.dev/serving", "serving"},
            {"", "/x", "a/", "a/b/c", "-x", "a/" + std::string(64, 'x')}},
           {&kEndpoint, {"generate", "/v1/completions"}, {"", "a b"}},
           {&kPlainHttpUrl, {"http://a/"}, {"https://a/", "a"}},
           {&kHttpUrl, {"http://a/", "https://a"}, {"nats://a", "a"}},
           {&kNatsUrl, {"nats://a", "tls://a:1"}, {"http://a"}},
       }) {
    for (std::string const& text : c.good) {
      EXPECT_TRUE(c.form->accepts(text)) << c.form->expected << ": " << text;
    }
    for (std::string const& text : c.bad) {
      EXPECT_FALSE(c.form->accepts(text)) << c.form->expected << ": " << text;
    }
  }
}

TEST(Text, A_network_is_an_address_and_the_length_of_its_prefix) {
  EXPECT_EQ(parse_network("10.0.0.0/8"), (Network{{10}, false, 8}));
  EXPECT_EQ(parse_network("0.0.0.0/0"), (Network{{}, false, 0}));
  EXPECT_EQ(parse_network("192.0.2.1"), (Network{{192, 0, 2, 1}, false, 32}));
  EXPECT_EQ(parse_network("fd00::/8"), (Network{{0xfd}, true, 8}));
  EXPECT_EQ(parse_network("::/0"), (Network{{}, true, 0}));
  EXPECT_EQ(parse_network("2001:db8::1")->bits, 128U);
}

TEST(Text, A_network_that_would_be_meant_otherwise_is_none) {
  for (char const* const text :
       {"", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/+8", "10.0.0.0/8/8",
        "10.0.0.0/ 8", "10.0.0.0/4294967304", "10.0.0.1/8", "10/8", "10.0.0/8", "fd00::/129",
        "fd00::1/64", "[fd00::]/8", "fe80::1%eth0", "::ffff:10.0.0.0/104", "localhost", "a.b/8"}) {
    EXPECT_FALSE(parse_network(text)) << text;
  }
}

}  // namespace
}  // namespace lastcall::config
