#include "router/records.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

namespace lastcall::router {
namespace {

class RecordsTest : public testing::Test {
 protected:
  struct Owner final : RecordOwner {
    bool forget_record() override {
      asked += 1;
      return may_forget;
    }
    int asked = 0;
    bool may_forget = true;
  };
  std::size_t bytes = 0;
  std::uint64_t dropped = 0;
  Records records{1000, [this](std::size_t held, std::uint64_t gone) {
                    bytes = held;
                    dropped = gone;
                  }};
};

TEST_F(RecordsTest, The_largest_is_dropped_where_all_are_too_many) {
  Owner small;
  std::array<Owner, 4> others;
  records.hold(small, 60);
  for (Owner& each : others) {
    records.hold(each, 240);
  }
  EXPECT_EQ(bytes, 780U);
  EXPECT_EQ(dropped, 1U);
  EXPECT_EQ(small.asked, 0);
  for (Owner& each : others) {
    records.hold(each, 0);
  }
  EXPECT_EQ(bytes, 60U);
  records.hold(small, 0);
  EXPECT_EQ(bytes, 0U);
}

TEST_F(RecordsTest, One_that_takes_a_quarter_of_all_is_dropped_at_once) {
  Owner owner;
  records.hold(owner, 250);
  EXPECT_EQ(owner.asked, 0);
  records.hold(owner, 251);
  EXPECT_EQ(owner.asked, 1);
  EXPECT_EQ(bytes, 0U);
}

TEST_F(RecordsTest, One_that_is_needed_is_looked_at_again) {
  Owner owner;
  owner.may_forget = false;
  records.hold(owner, 300);
  EXPECT_EQ(dropped, 0U);
  owner.may_forget = true;
  records.hold(owner, 300);
  EXPECT_EQ(dropped, 1U);
  records.hold(owner, 0);  // as it is forgotten
  records.hold(owner, 10);
  EXPECT_EQ(bytes, 10U);
  records.hold(owner, 0);
}

}  // namespace
}  // namespace lastcall::router
