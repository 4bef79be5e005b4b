// Every event, every action and the settings are written as a line and read back, with random
// values in all members: the language loses nothing.
#include "tests/simulation/shape_text.hpp"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "core/member_mixer.hpp"
#include "tests/simulation/event_text.hpp"

namespace lastcall::simulation {
namespace {

using namespace lifecycle;

constexpr int kRounds = 200;
constexpr Instant kNow = kEpoch + Duration{7};

/// Fills a value's members; a text may be of what the language itself is written with.
class Filler {
 public:
  explicit Filler(std::uint64_t seed) : random_(seed) {}

  template <typename T>
  void operator()(std::string_view /*key*/, T& value) {
    fill(value);
  }

 private:
  std::uint64_t below(std::uint64_t end) { return random_() % end; }

  std::string_view a_text() {
    static std::vector<std::string> const kTexts{
        "",      "a",         "a b",       "\"",          "\\",
        "a\nb",  "key=value", "not_admit", "admit",       "ingress",
        "none",  "true",      "x/y",       "\"\"",        "\\n",
        "=",     "/",         "{id}",      "caf\xC3\xA9", "5s",
        "begun", "critical",  "->",        "#",           "a\"b\\c/d e=f\n"};
    return kTexts[below(kTexts.size())];
  }

  void fill(bool& value) { value = below(2) == 0; }
  void fill(std::string& value) { value = a_text(); }
  void fill(std::string_view& value) { value = a_text(); }
  void fill(Duration& value) {
    value = Duration{static_cast<std::int64_t>(below(100'000)) - 50'000};
  }
  void fill(Instant& value) {
    value = below(3) == 0 ? kNow : kEpoch + Duration{static_cast<std::int64_t>(below(100'000))};
  }
  template <std::integral T>
  void fill(T& value) {
    value = below(4) == 0 ? std::numeric_limits<T>::max() : static_cast<T>(random_());
  }
  template <typename T>
    requires std::is_enum_v<T>
  void fill(T& value) {
    value = static_cast<T>(below(vocabulary::kWordsOf<T>.size()));
  }
  template <typename T>
  void fill(std::optional<T>& value) {
    value.reset();
    if (below(2) == 0) {
      fill(value.emplace());
    }
  }
  template <typename T>
  void fill(std::vector<T>& value) {
    value.resize(below(4));
    for (T& element : value) {
      fill(element);
    }
  }
  void fill(Shaped auto& value) {
    Shape<std::remove_cvref_t<decltype(value)>>::visit(value, *this);
  }

  std::mt19937_64 random_;
};

std::uint64_t members_hash(auto const& value) {
  Mixer mixer{Instant{}};
  MemberMixer{mixer}.add(value);
  return mixer.hash;
}

template <typename T>
void expect_to_be_read_back(std::uint64_t seed) {
  T value{};
  Filler filler(seed);
  Shape<T>::visit(value, filler);
  std::string const line = line_of(value, kNow);
  EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  try {
    Words words(line);
    T const again = value_of<T>(words, kNow);
    EXPECT_EQ(members_hash(again), members_hash(value)) << line << "\n" << line_of(again, kNow);
  } catch (ScenarioError const& error) {
    FAIL() << line << ": " << error.what();
  }
}

template <typename... Kinds>
void expect_all_to_be_read_back(std::variant<Kinds...> const* /*kinds*/) {
  for (std::uint64_t seed = 1; seed <= kRounds; ++seed) {
    (expect_to_be_read_back<Kinds>(seed), ...);
  }
}

template <typename... Kinds>
std::vector<std::string> verbs_of(std::variant<Kinds...> const* /*kinds*/) {
  return {std::string(Shape<Kinds>::kLine.substr(0, Shape<Kinds>::kLine.find(' ')))...};
}

TEST(ShapeText, Every_event_is_read_back_from_its_line) {
  expect_all_to_be_read_back(static_cast<Event const*>(nullptr));
}

TEST(ShapeText, Every_action_is_read_back_from_its_line) {
  expect_all_to_be_read_back(static_cast<Action const*>(nullptr));
}

TEST(ShapeText, The_settings_are_read_back_from_their_line) {
  expect_all_to_be_read_back(static_cast<std::variant<Settings> const*>(nullptr));
}

TEST(ShapeText, No_two_events_begin_with_the_same_word) {
  auto const verbs = verbs_of(static_cast<Event const*>(nullptr));
  EXPECT_EQ(std::set<std::string>(verbs.begin(), verbs.end()).size(), verbs.size());
}

TEST(ShapeText, Defaults_are_left_out) {
  EXPECT_EQ(text_of(Settings{}), "settings");
  EXPECT_EQ(text_of(Event(ShimHello{.boot = "a"}), kNow), "shim boot=a");
  EXPECT_EQ(text_of(Event(StopSignalHeld{.name = "TERM", .at = kNow}), kNow), "signal TERM");
  EXPECT_EQ(text_of(Event(GaugesRead{}), kNow), "gauges none");
}

TEST(ShapeText, A_part_is_one_word_in_a_list) {
  Settings settings;
  settings.health.checks = {{.name = "check0"}, {.name = "a/b", .failure_threshold = 1}};
  EXPECT_EQ(text_of(settings), "settings checks=check0/2 checks=\"a/b\"/1");
  EXPECT_EQ(parse_settings("settings checks=check0").health.checks.at(0).failure_threshold, 2U);
}

TEST(ShapeText, Values_that_do_not_fit_are_refused) {
  for (char const* const line :
       {"begin 1", "begin one r1", "begin 1 r1 priority=256", "begin 1 r1 model=a model=b",
        "end 1 r1 maybe", "endpoint 1 generate gracefully", "end 1 r1 completed twice",
        "begin 1 \"r1", "gauges", "drain timeout=5"}) {
    EXPECT_THROW(parse_event(line, kNow), ScenarioError) << line;
  }
  EXPECT_THROW(parse_settings("settings checks=a/1/2"), ScenarioError);
}

}  // namespace
}  // namespace lastcall::simulation
