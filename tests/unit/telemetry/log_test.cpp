#include "telemetry/log.hpp"

#include <array>
#include <future>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/clock.hpp"

namespace lastcall::telemetry {
namespace {

TEST(Log, A_json_record_is_one_line_of_valid_json_whatever_it_holds) {
  std::ostringstream out;
  Log log(LogLevel::info, LogFormat::json, out);
  std::string const nasty("quote\" back\\ line\nnul\0 bad\xFF", 28);
  log.error(nasty, {{"detail", nasty}, {"n", -3}, {"yes", true}, Field::json("raw", "{\"a\":1}")});
  std::string const text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  auto const json = nlohmann::json::parse(text);
  EXPECT_EQ(json["level"], "ERROR");
  EXPECT_EQ(json["n"], -3);
  EXPECT_EQ(json["yes"], true);
  EXPECT_EQ(json["raw"]["a"], 1);
  EXPECT_EQ(json["msg"], json["detail"]);
}

TEST(Log, An_absent_field_is_not_written) {
  std::ostringstream out;
  Log log(LogLevel::info, LogFormat::json, out);
  log.info("m", {{"gone", std::optional<int>{}}, {"here", std::optional<int>{1}}});
  auto const json = nlohmann::json::parse(out.str());
  EXPECT_FALSE(json.contains("gone"));
  EXPECT_EQ(json["here"], 1);
}

TEST(Log, Levels_below_the_chosen_one_are_silent_until_it_changes) {
  std::ostringstream out;
  Log log(LogLevel::warning, LogFormat::text, out);
  log.info("quiet");
  EXPECT_EQ(out.str(), "");
  log.set_level(LogLevel::debug);
  log.debug("loud");
  EXPECT_NE(out.str().find("DEBUG    loud"), std::string::npos);
}

TEST(Log, Text_quotes_what_has_spaces_and_shows_a_traceback_as_lines) {
  std::ostringstream out;
  Log log(LogLevel::info, LogFormat::text, out);
  log.critical("fatal stop", {{"cause", "fatal"}, {"why", "two words"}, {"detail", "a\nb"}});
  EXPECT_NE(out.str().find("CRITICAL fatal stop cause=fatal why=\"two words\"\n"),
            std::string::npos);
  EXPECT_NE(out.str().find("  detail:\n    a\n    b\n"), std::string::npos);
}

TEST(Log, Text_shows_what_a_terminal_would_obey_instead_of_printing_it) {
  std::ostringstream out;
  Log log(LogLevel::info, LogFormat::text, out);
  log.info("cut\x1b[2J\rhere", {{"model", "m\x1b[31mred\r"}, {"empty", ""}, {"del", "a\x7f"}});
  log.info("fatal", {{"detail", "one\ttab\n\x1b]0;title\x07"}});
  std::string const text = out.str();
  EXPECT_EQ(text.find_first_of("\x1b\r\x7f\x07"), std::string::npos) << text;
  EXPECT_NE(text.find("cut\\u001b[2J\\u000dhere"), std::string::npos) << text;
  EXPECT_NE(text.find("model=\"m\\u001b[31mred\\u000d\""), std::string::npos) << text;
  EXPECT_NE(text.find("empty=\"\" del=\"a\\u007f\""), std::string::npos) << text;
  log.info("C1", {{"model",
                   "m\xc2\x9b"
                   "31m"},
                  {"name", "\xc2\xa0\xc3\xa9"}});
  EXPECT_NE(out.str().find("model=\"m\\u009b31m\" name=\xc2\xa0\xc3\xa9"), std::string::npos)
      << out.str();
  EXPECT_NE(text.find("    one\ttab\n    \\u001b]0;title\\u0007\n"), std::string::npos) << text;
}

/// A pipe that takes `capacity` bytes, read on request.
struct SmallPipe {
  SmallPipe() {
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ::fcntl(ends[1], F_SETPIPE_SZ, 4096);
  }
  ~SmallPipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  std::string read_all() {
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t n = 0; (n = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
      text.append(buffer.data(), static_cast<std::size_t>(n));
    }
    return text;
  }
  int ends[2] = {-1, -1};
};

TEST(Log,
     A_full_pipe_costs_the_oldest_records_and_never_blocks_and_the_loss_is_said_when_it_is_read) {
  SmallPipe pipe;
  Log log(LogLevel::info, LogFormat::json, pipe.ends[1]);
  constexpr int kRecords = 3'000;
  for (int i = 0; i < kRecords; ++i) {
    log.info("record", {{"n", i}});
  }
  log.info("report");
  std::string text;
  while (text.find("report") == std::string::npos) {
    std::string const part = pipe.read_all();
    ASSERT_FALSE(part.empty()) << "the last line never comes";
    text += part;
    log.flush();
  }
  std::istringstream lines(text);
  int next = 0;
  int dropped = 0;
  for (std::string line; std::getline(lines, line);) {
    auto const record = nlohmann::json::parse(line);
    if (record["msg"] == "record") {
      EXPECT_EQ(record["n"], next);
      ++next;
    } else if (record.contains("lines")) {
      dropped += record["lines"].get<int>();
      next += record["lines"].get<int>();
    }
  }
  EXPECT_GT(dropped, 0) << "what may wait is limited";
  EXPECT_EQ(next, kRecords) << "each is there or counted";
}

TEST(Log, Its_end_waits_a_moment_for_a_reader_that_was_away) {
  SmallPipe pipe;
  std::string text;
  std::thread reader;
  {
    Log log(LogLevel::info, LogFormat::json, pipe.ends[1]);
    for (int i = 0; i < 100; ++i) {
      log.info("record", {{"n", i}});
    }
    log.info("report");
    reader = std::thread([&] {
      while (text.find("report") == std::string::npos) {
        text += pipe.read_all();
      }
    });
  }
  ::close(pipe.ends[1]);
  pipe.ends[1] = -1;
  reader.join();
  EXPECT_NE(text.find(R"("n":99)"), std::string::npos);
}

TEST(Log, Its_end_waits_for_its_reader_as_long_as_a_stop_has_time_left) {
  SmallPipe pipe;
  std::string text;
  std::thread reader;
  {
    Log log(LogLevel::info, LogFormat::json, pipe.ends[1]);
    for (int i = 0; i < 100; ++i) {
      log.info("record", {{"n", i}});
    }
    log.info("report");
    EXPECT_FALSE(log.flush());
    log.wait_at_end_until(monotonic_now() + Duration{60'000});
    reader = std::thread([&, back_at = monotonic_now() + Duration{1'500}] {
      std::promise<void> none;  // it is away, and nothing calls it back
      none.get_future().wait_until(to_steady(back_at));
      while (text.find("report") == std::string::npos) {
        text += pipe.read_all();
      }
    });
  }
  ::close(pipe.ends[1]);
  pipe.ends[1] = -1;
  reader.join();
  EXPECT_NE(text.find(R"("n":99)"), std::string::npos);
}

TEST(Log, Its_end_waits_for_nobody_beyond_the_stop) {
  SmallPipe pipe;
  Log log(LogLevel::info, LogFormat::json, pipe.ends[1]);
  for (int i = 0; i < 100; ++i) {
    log.info("record", {{"n", i}});
  }
  EXPECT_FALSE(log.flush());
  log.wait_at_end_until(monotonic_now());
}

TEST(Log, A_record_longer_than_the_pipe_does_not_block_and_spoils_no_other) {
  SmallPipe pipe;
  Log log(LogLevel::info, LogFormat::json, pipe.ends[1]);
  log.info(std::string(100'000, 'x'));
  pipe.read_all();
  log.info("next");
  std::string const text = pipe.read_all();
  std::string const last = text.substr(text.rfind('\n', text.size() - 2) + 1);
  EXPECT_EQ(nlohmann::json::parse(last)["msg"], "next");
}

TEST(Log, The_flags_of_a_shared_descriptor_stay_as_they_are) {
  SmallPipe pipe;
  Log log(LogLevel::info, LogFormat::json, pipe.ends[1]);
  log.info("m");
  EXPECT_EQ(::fcntl(pipe.ends[1], F_GETFL) & O_NONBLOCK, 0);
}

}  // namespace
}  // namespace lastcall::telemetry
