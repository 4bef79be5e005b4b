#include "shim/options.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "shim/parse.hpp"

namespace lastcall::shim {
namespace {

struct Parsed {
  bool ok = false;
  Options options;
  std::string error;
};

Parsed parse(std::vector<std::string>& words) {
  std::vector<char*> argv{const_cast<char*>("lastcall-shim")};
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  Parsed parsed;
  TextOf<512> error;
  parsed.ok = parse_options(static_cast<int>(argv.size()) - 1, argv.data(), parsed.options, error);
  parsed.error = std::string(error.view());
  return parsed;
}

TEST(ShimOptions, Durations_need_a_unit_and_must_fit) {
  EXPECT_EQ(parse_duration("60s"), Duration{60'000});
  EXPECT_EQ(parse_duration("500ms"), Duration{500});
  EXPECT_EQ(parse_duration("2m"), Duration{120'000});
  EXPECT_EQ(parse_duration("1h"), Duration{3'600'000});
  EXPECT_EQ(parse_duration("0s"), Duration{0});
  for (char const* text : {"", "5", "s", "5 s", "-5s", "+5s", "5.5s", "5S", "5sec",
                           "99999999999999999999s", "9999h"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  }
}

TEST(ShimOptions, Every_option_is_read) {
  std::vector<std::string> words{"--socket",
                                 "/run/l.sock",
                                 "--supervisor-timeout",
                                 "3s",
                                 "--on-exit",
                                 "propagate",
                                 "--stop-signals",
                                 "USR1",
                                 "--grace",
                                 "9s",
                                 "--tty",
                                 "--required",
                                 "--serve",
                                 "/bin/lc",
                                 "--serve-arg",
                                 "serve",
                                 "--serve-arg=-v",
                                 "--",
                                 "engine",
                                 "--grace"};
  Parsed const parsed = parse(words);
  ASSERT_TRUE(parsed.ok) << parsed.error;
  Options const& options = parsed.options;
  EXPECT_STREQ(options.socket, "/run/l.sock");
  EXPECT_EQ(options.supervisor_timeout, Duration{3'000});
  EXPECT_EQ(options.on_exit, OnExit::propagate);
  EXPECT_EQ(options.grace, Duration{9'000});
  EXPECT_TRUE(options.tty && options.required && options.supervised());
  EXPECT_TRUE(options.signals.is_stop(10));
  EXPECT_FALSE(options.signals.is_stop(15));
  EXPECT_STREQ(options.serve_argv[0], "/bin/lc");
  EXPECT_STREQ(options.serve_argv[1], "serve");
  EXPECT_STREQ(options.serve_argv[2], "-v");
  EXPECT_EQ(options.serve_argv[3], nullptr);
}

TEST(ShimOptions, Signals_that_the_caller_held_are_a_list_of_names) {
  std::vector<std::string> words{"--held-signals", "TERM,64", "engine"};
  EXPECT_EQ(parse(words).options.held, bit_of(15) | bit_of(64));
  for (char const* list : {"", "TERM,", "NONE", "65"}) {
    words[1] = list;
    EXPECT_FALSE(parse(words).ok) << list;
  }
}

TEST(ShimOptions, Relative_socket_becomes_absolute) {
  std::vector<std::string> words{"--socket", "l.sock", "engine"};
  Parsed const parsed = parse(words);
  ASSERT_TRUE(parsed.ok) << parsed.error;
  EXPECT_EQ(parsed.options.socket[0], '/');
}

TEST(ShimOptions, Too_many_arguments_for_the_supervisor_are_refused) {
  std::vector<std::string> words{"--socket", "/s", "--serve", "/bin/lc"};
  words.insert(words.end(), kMaxServeArguments, "--serve-arg=x");
  std::vector<std::string> fits = words;
  fits.push_back("engine");
  EXPECT_TRUE(parse(fits).ok);
  words.insert(words.end(), {"--serve-arg=x", "engine"});
  EXPECT_FALSE(parse(words).ok);
}

}  // namespace
}  // namespace lastcall::shim
