#include "supervisor/runtime/record/stop_record.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/remembered.hpp"
#include "tests/unit/runtime/scratch_directory.hpp"

namespace lastcall::runtime {
namespace {

using lifecycle::instant_from_ms;

std::string blob_with_deadline(std::int64_t ms) {
  lifecycle::Remembered remembered;
  remembered.progress.phase = lifecycle::Phase::draining;
  remembered.progress.stop = lifecycle::ShutdownCoordinator::Stop{};
  remembered.progress.stop->deadline = instant_from_ms(ms);
  return lifecycle::encode(remembered);
}

class StopRecordTest : public ::testing::Test {
 protected:
  StopRecord record(std::string boot = "boot", std::string pod = "pod") const {
    return {scratch / "l.sock", {std::move(boot), std::move(pod)}};
  }

  ScratchDirectory scratch;
  std::string note;
  std::string const blob = blob_with_deadline(1'000);
};

TEST_F(StopRecordTest, A_record_is_read_back_until_its_deadline) {
  ASSERT_EQ(record().write(blob), "");
  EXPECT_EQ(record().read(instant_from_ms(1'000), note), blob);
  EXPECT_EQ(note, "");
  EXPECT_FALSE(scratch.has("stop.json.new"));
  EXPECT_FALSE(record().read(instant_from_ms(1'001), note));
  EXPECT_NE(note.find("deadline"), std::string::npos);
  EXPECT_FALSE(scratch.has("stop.json"));
}

TEST_F(StopRecordTest, A_drain_stays_one_after_the_limit_of_its_requests) {
  lifecycle::Remembered remembered;
  remembered.progress.phase = lifecycle::Phase::draining;
  remembered.progress.drain_limit = instant_from_ms(1'000);
  ASSERT_EQ(record().write(lifecycle::encode(remembered)), "");
  EXPECT_EQ(record().read(instant_from_ms(5'000), note), lifecycle::encode(remembered));
  EXPECT_EQ(note, "");
}

TEST_F(StopRecordTest, Another_boot_or_pod_is_ignored_and_removed) {
  for (StopRecord const& other : {record("other", "pod"), record("boot", "other")}) {
    ASSERT_EQ(record().write(blob), "");
    EXPECT_FALSE(other.read(instant_from_ms(0), note));
    EXPECT_NE(note, "");
    EXPECT_FALSE(scratch.has("stop.json"));
  }
}

TEST_F(StopRecordTest, Garbage_is_ignored_and_removed) {
  for (std::string const garbage : {"", "{", "[1]", R"({"version":"1"})", "\xFF\xFE",
                                    R"({"version":1,"boot_id":"boot","pod_uid":"pod"})"}) {
    scratch.write("stop.json", garbage);
    EXPECT_FALSE(record().read(instant_from_ms(0), note)) << garbage;
    EXPECT_FALSE(scratch.has("stop.json"));
  }
}

TEST_F(StopRecordTest, A_record_that_cannot_be_read_now_is_kept) {
  ASSERT_EQ(record().write(blob), "");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  auto const found = record().read(instant_from_ms(0), note);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(found);
  EXPECT_NE(note.find("too many open files"), std::string::npos) << note;
  EXPECT_EQ(record().read(instant_from_ms(0), note), blob);
}

TEST_F(StopRecordTest, No_file_is_no_record_and_no_note) {
  EXPECT_FALSE(record().read(instant_from_ms(0), note));
  EXPECT_EQ(note, "");
  record().remove();
}

TEST_F(StopRecordTest, A_directory_that_is_not_there_is_an_error_in_words) {
  StopRecord const lost("/does/not/exist/l.sock", {"b", "p"});
  EXPECT_NE(lost.write(blob).find("/does/not/exist/stop.json"), std::string::npos);
}

TEST_F(StopRecordTest, A_link_in_the_place_of_the_temporary_file_is_not_followed) {
  scratch.write("victim", "precious");
  std::filesystem::create_symlink(scratch / "victim", scratch / "stop.json.new");
  EXPECT_EQ(record().write(blob), "");
  EXPECT_EQ(scratch.read("victim"), "precious");
  EXPECT_EQ(record().read(instant_from_ms(0), note), blob);
}

TEST_F(StopRecordTest, A_link_to_a_record_is_none) {
  ASSERT_EQ(record().write(blob), "");
  std::filesystem::rename(scratch / "stop.json", scratch / "elsewhere");
  std::filesystem::create_symlink(scratch / "elsewhere", scratch / "stop.json");
  EXPECT_FALSE(record().read(instant_from_ms(0), note));
  EXPECT_NE(note, "");
  EXPECT_FALSE(scratch.has("stop.json"));
  EXPECT_TRUE(scratch.has("elsewhere"));
}

TEST_F(StopRecordTest, A_pipe_in_a_files_place_is_replaced_and_never_waited_for) {
  ASSERT_EQ(::mkfifo((scratch / "stop.json").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo((scratch / "stop.json.new").c_str(), 0600), 0);
  EXPECT_FALSE(record().read(instant_from_ms(0), note));
  EXPECT_NE(note, "");
  EXPECT_FALSE(scratch.has("stop.json"));
  ASSERT_EQ(record().write(blob), "");
  EXPECT_EQ(record().read(instant_from_ms(0), note), blob);
}

}  // namespace
}  // namespace lastcall::runtime
