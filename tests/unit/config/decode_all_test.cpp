// Whole files that are bad: all errors at once, and input that is made to hurt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/config/support.hpp"

namespace lastcall::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string const kCleanupPattern =
    "an absolute path without '.' and '..' such as /tmp/lora-*: below /tmp, /var/tmp, /run or "
    "/dev/shm, or with at least two fixed directories before what is removed";
std::string const kNoDuration = "expected a duration such as 60s, 500ms or 2m, ";

TEST(DecodeAll, A_hundred_problems_are_explained_and_the_others_only_named) {
  std::string text;
  for (int i = 0; i < 102; ++i) {
    text += "healt" + std::to_string(i) + ":\n";
  }
  std::vector<std::string> const errors = texts(load_text(text).errors);
  ASSERT_EQ(errors.size(), 102U);
  EXPECT_EQ(errors[99], "c.yaml:100:1: healt99: unknown key, did you mean 'health'?");
  EXPECT_EQ(errors[100], "c.yaml:101:1: healt100: unknown key");
}

TEST(DecodeAll, All_errors_are_reported_at_once_in_the_order_of_the_file) {
  Loaded const loaded = load_text(
      "log: {level: loud}\n"
      "identity:\n"
      "  model: &x a\n"
      "  colour: red\n"
      "shutdown:\n"
      "  grace_period: soon\n"
      "  grace_period: 60s\n"
      "cleanup:\n"
      "  paths: [/tmp/ok-*, relative, 5]\n",
      {"admission.queue_limit=many", "nothing"}, {{"LASTCALL_LIFECYCLE_TOKEN", "a b"}});
  EXPECT_THAT(
      texts(loaded.errors),
      ElementsAre(
          "c.yaml:1:14: log.level: 'loud', expected trace, debug, info, warning, error or critical",
          "c.yaml:3:10: identity.model: an anchor, expected none: aliases are not supported",
          "c.yaml:4:3: identity.colour: unknown key, expected one of namespace, component, "
          "endpoint, model, advertise",
          "c.yaml:6:17: shutdown.grace_period: 'soon' is not a duration, " + kNoDuration +
              "1s to 24h",
          "c.yaml:7:3: shutdown.grace_period: duplicate key, first in line 6",
          "c.yaml:9:22: cleanup.paths[1]: 'relative', expected " + kCleanupPattern,
          "c.yaml:9:32: cleanup.paths[2]: '5' is a number unless quoted, expected " +
              kCleanupPattern,
          "LASTCALL_LIFECYCLE_TOKEN: lifecycle.token: what is there, expected visible ASCII "
          "characters without spaces",
          "--set admission.queue_limit: admission.queue_limit: 'many' is not a decimal whole "
          "number, expected a whole number, 0 to 1000000",
          "--set nothing: no key and value, expected key=value"));
}

TEST(DecodeAll, Refused_values_are_reported_without_their_secrets) {
  Loaded const loaded = load_text(
      "discovery:\n"
      "  - {http: {url: \"http://user:pa/ss@reg:80/a?key=hush\"}}\n"
      "  - {http: {url: \"ftp://reg/a?key=hush\"}}\n"
      "  - {http: {url: \"reg/a?key=hush\"}}\n"
      "  - {http: {url: \"https//reg/a#hush\"}}\n"
      "  - {http: {url: \"http://reg/\", headers: [\"Host: hush\"]}}\n"
      "ingress: {upstream: \"user:hush@engine:8000\"}\n"
      "lifecycle: {token: \"hush hush\"}\n");
  std::vector<std::string> const errors = texts(loaded.errors);
  ASSERT_EQ(errors.size(), 7U);
  EXPECT_THAT(errors[0], testing::HasSubstr("'http://***@reg:80/a?***', expected"));
  EXPECT_THAT(errors[1], testing::HasSubstr("'ftp://reg/a?***', expected"));
  EXPECT_THAT(errors[2], testing::HasSubstr("'reg/a?***', expected"));
  EXPECT_THAT(errors[3], testing::HasSubstr("'https//reg/a#***', expected"));
  EXPECT_THAT(errors[4], testing::HasSubstr("what is there, expected"));
  EXPECT_THAT(errors[5], testing::HasSubstr("'***@engine:8000', expected"));
  EXPECT_THAT(errors[6], testing::HasSubstr("what is there, expected"));
}

TEST(DecodeAll, A_file_over_one_mebibyte_is_refused_before_it_is_parsed) {
  std::string const comment = "#" + std::string(1U << 20U, 'x') + "\n";
  std::vector<std::string> const errors = texts(load_text(comment).errors);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors.front(), "c.yaml: larger than 1 MiB, expected a configuration");
  EXPECT_THAT(texts(load_text(comment.substr(0, (1U << 20U) - 1) + "\n").errors), IsEmpty());
}

TEST(DecodeAll, Nested_aliases_are_not_expanded) {
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 40; ++i) {
    std::string const before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + ", " + before +
            "]\n";
  }
  // One for each anchor, each alias and each unknown key.
  EXPECT_EQ(load_text(bomb).errors.size(), 40U + 78U + 40U);
}

TEST(DecodeAll, Deep_nesting_is_an_error) {
  std::vector<std::string> const errors =
      texts(load_text("log: " + std::string(100'000, '[') + "\n").errors);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_THAT(errors.front(),
              testing::EndsWith("not valid YAML: too many lists or sections inside each other"));
}

TEST(DecodeAll, Keys_from_the_file_cannot_steer_the_terminal) {
  EXPECT_THAT(texts(load_text("log: {\"\\e[2J\\n\": 1}\n").errors),
              ElementsAre("c.yaml:1:7: log.?[2J?: unknown key, expected one of level, format"));
  std::vector<std::string> const errors =
      texts(load_text(std::string(100'000, 'k') + ": 1\n").errors);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_LT(errors.front().size(), 500U);
}

TEST(DecodeAll, A_byte_order_mark_is_allowed) {
  EXPECT_THAT(texts(load_text("\xef\xbb\xbflog: {level: debug}\n").errors), IsEmpty());
}

}  // namespace
}  // namespace lastcall::config
