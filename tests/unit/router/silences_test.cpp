#include "router/silences.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lastcall::router {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

struct Stream final : SilentStream {
  using SilentStream::SilentStream;
  void is_silent() override {}
};

class SilencesTest : public testing::Test {
 protected:
  SilencesTest() {
    fleet.set(0, {{"a", "m"}, {"b", "m"}});
    a = fleet.workers()[0];
    b = fleet.workers()[1];
  }
  Fleet fleet{{}, [] { return std::uint64_t{0}; }};
  std::shared_ptr<Worker> a, b;
  Silences silences{1000ms};
};

TEST_F(SilencesTest, A_worker_whose_streams_are_all_silent_is_stalled) {
  Stream one, two, begun, elsewhere;
  silences.enter(one, a, 0ms);
  silences.enter(two, a, 0ms);
  silences.enter(begun, a, 0ms);
  silences.enter(elsewhere, b, 0ms);
  one.speak(100ms);
  two.speak(500ms);
  elsewhere.speak(600ms);
  EXPECT_THAT(silences.find(1499ms), IsEmpty());
  EXPECT_THAT(silences.find(1500ms), UnorderedElementsAre(&one, &two, &begun));
}

TEST_F(SilencesTest, An_answer_that_comes_whole_leaves_with_the_streams_of_a_stalled_worker_alone) {
  Stream one, whole{Awaits::whole_answer}, elsewhere{Awaits::whole_answer};
  silences.enter(one, a, 0ms);
  silences.enter(whole, a, 0ms);
  silences.enter(elsewhere, b, 0ms);
  one.speak(100ms);
  EXPECT_THAT(silences.find(1099ms), IsEmpty());
  EXPECT_THAT(silences.find(1100ms), UnorderedElementsAre(&one, &whole));
  silences.leave(one);
  EXPECT_THAT(silences.find(3600s), IsEmpty());
}

TEST_F(SilencesTest, An_answer_that_is_relayed_as_it_comes_is_not_silent_while_its_bytes_arrive) {
  Stream one, relayed{Awaits::whole_answer};
  silences.enter(one, a, 0ms);
  silences.enter(relayed, a, 0ms);
  one.speak(100ms);
  relayed.speak(900ms);
  EXPECT_THAT(silences.find(1100ms), UnorderedElementsAre(&one));  // others' bytes prove nothing
  EXPECT_THAT(silences.find(1899ms), UnorderedElementsAre(&one));
  EXPECT_THAT(silences.find(1900ms), UnorderedElementsAre(&one, &relayed));
}

TEST_F(SilencesTest, An_answer_that_is_relayed_leaves_a_stalled_worker_after_its_streams) {
  Stream one, relayed{Awaits::whole_answer}, other{Awaits::whole_answer};
  silences.enter(one, a, 0ms);
  silences.enter(relayed, a, 0ms);
  silences.enter(other, a, 0ms);
  one.speak(100ms);
  relayed.speak(900ms);
  other.speak(900ms);
  EXPECT_THAT(silences.find(1100ms), UnorderedElementsAre(&one));
  silences.leave(one);
  EXPECT_THAT(silences.find(1899ms), IsEmpty());
  EXPECT_THAT(silences.find(1900ms), UnorderedElementsAre(&relayed, &other));
  other.speak(1900ms);  // the worker is not stalled any more
  EXPECT_THAT(silences.find(3600s), IsEmpty());
}

TEST_F(SilencesTest, A_client_that_reads_again_is_no_word_of_its_stalled_worker) {
  Stream one, relayed{Awaits::whole_answer};
  silences.enter(one, a, 0ms);
  silences.enter(relayed, a, 0ms);
  one.speak(100ms);
  relayed.speak(900ms);
  EXPECT_THAT(silences.find(1100ms), UnorderedElementsAre(&one));
  silences.leave(one);
  relayed.pause();
  relayed.go_on(1500ms);
  EXPECT_THAT(silences.find(2499ms), IsEmpty());
  EXPECT_THAT(silences.find(2500ms), UnorderedElementsAre(&relayed));
}

TEST_F(SilencesTest, An_answer_that_ends_has_shown_that_its_worker_is_not_stalled) {
  Stream one, quiet{Awaits::whole_answer}, ends{Awaits::whole_answer};
  silences.enter(one, a, 0ms);
  silences.enter(quiet, a, 0ms);
  silences.enter(ends, a, 0ms);
  one.speak(100ms);
  quiet.speak(900ms);
  ends.speak(950ms);
  EXPECT_THAT(silences.find(1100ms), UnorderedElementsAre(&one));
  silences.leave(one);
  ends.speak(1200ms);
  silences.leave(ends);  // before anybody has looked again
  EXPECT_THAT(silences.find(3600s), IsEmpty());
}

TEST_F(SilencesTest, An_answer_that_is_relayed_proves_nothing_alone) {
  Stream relayed{Awaits::whole_answer};
  silences.enter(relayed, a, 0ms);
  relayed.speak(100ms);
  EXPECT_THAT(silences.find(3600s), IsEmpty());
}

TEST_F(SilencesTest, A_whole_answer_has_the_time_of_one_stream_where_others_have_failed) {
  Stream whole{Awaits::whole_answer};
  silences.enter(whole, a, 0ms);
  fleet.failed(*a, 0ms);
  EXPECT_THAT(silences.find(5999ms), IsEmpty());
  EXPECT_THAT(silences.find(6000ms), UnorderedElementsAre(&whole));
  silences.stays(whole, 6000ms);
  EXPECT_THAT(silences.find(12'999ms), IsEmpty());
  EXPECT_THAT(silences.find(13'000ms), UnorderedElementsAre(&whole));
  fleet.answered(*a);
  EXPECT_THAT(silences.find(3600s), IsEmpty());
}

TEST_F(SilencesTest, An_answer_that_comes_whole_leaves_a_worker_that_stops_reporting_its_load) {
  Stream whole{Awaits::whole_answer}, begun, elsewhere{Awaits::whole_answer};
  silences.enter(whole, a, 0ms);
  silences.enter(begun, a, 0ms);
  silences.enter(elsewhere, b, 0ms);
  fleet.began(*a);
  fleet.asked(*a, 100ms);
  fleet.reported(*a, {}, 200ms);
  for (auto const& [from, to] : {std::pair{300ms, 800ms}, {900ms, 1300ms}}) {
    EXPECT_THAT(silences.find(from), IsEmpty());
    fleet.asked(*a, from);
    fleet.reported_nothing(*a, NoLoad::silent, to);
  }
  EXPECT_THAT(silences.find(1300ms), UnorderedElementsAre(&whole));
  fleet.asked(*a, 1300ms);
  fleet.reported(*a, {}, 1301ms);
  EXPECT_THAT(silences.find(1301ms), IsEmpty());
}

TEST_F(SilencesTest, One_stream_alone_has_six_times_as_long) {
  Stream one, two, begun;
  silences.enter(one, a, 0ms);
  silences.enter(two, a, 0ms);
  silences.enter(begun, b, 0ms);
  one.speak(1ms);
  two.speak(5900ms);
  EXPECT_THAT(silences.find(5999ms), IsEmpty());
  EXPECT_THAT(silences.find(6000ms), UnorderedElementsAre(&begun));
  EXPECT_THAT(silences.find(6001ms), UnorderedElementsAre(&one, &begun));
}

TEST_F(SilencesTest, A_worker_that_has_left_has_a_quarter_of_the_time) {
  Stream one;
  silences.enter(one, a, 0ms);
  one.speak(100ms);
  fleet.set(0, {{"b", "m"}});
  EXPECT_THAT(silences.find(349ms), IsEmpty());
  EXPECT_THAT(silences.find(350ms), UnorderedElementsAre(&one));
}

TEST_F(SilencesTest, A_client_that_takes_nothing_makes_no_silence) {
  Stream one;
  silences.enter(one, a, 0ms);
  one.speak(0ms);
  one.pause();
  EXPECT_THAT(silences.find(1h), IsEmpty());
  one.go_on(1h);
  EXPECT_THAT(silences.find(1h + 999ms), IsEmpty());
  EXPECT_THAT(silences.find(1h + 1s), UnorderedElementsAre(&one));
}

TEST_F(SilencesTest, It_looks_again_when_one_is_due) {
  EXPECT_EQ(silences.next(0ms), std::nullopt);
  Stream one;
  silences.enter(one, a, 0ms);
  one.speak(0ms);
  EXPECT_EQ(silences.next(900ms), 1000ms);
  one.speak(900ms);
  EXPECT_EQ(silences.next(900ms), 1150ms);  // a worker may leave meanwhile
  silences.leave(one);
  EXPECT_EQ(silences.next(900ms), std::nullopt);
}

}  // namespace
}  // namespace lastcall::router
