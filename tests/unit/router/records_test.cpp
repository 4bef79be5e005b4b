#include "router/records.hpp"

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

TEST_F(RecordsTest, TheLargestIsDroppedWhereAllAreTooMany) {
  Owner owners[5];
  Records::Place small(records, owners[0]);
  small.hold(60);
  {
    Records::Place places[] = {
        {records, owners[1]}, {records, owners[2]}, {records, owners[3]}, {records, owners[4]}};
    for (Records::Place& each : places) {
      each.hold(240);
    }
    EXPECT_EQ(bytes, 780U);
    EXPECT_EQ(dropped, 1U);
    EXPECT_EQ(owners[0].asked, 0);
  }
  EXPECT_EQ(bytes, 60U);
  small.hold(0);
  EXPECT_EQ(bytes, 0U);
}

TEST_F(RecordsTest, OneThatTakesAQuarterOfAllIsDroppedAtOnce) {
  Owner owner;
  Records::Place place(records, owner);
  place.hold(250);
  EXPECT_EQ(owner.asked, 0);
  place.hold(251);
  EXPECT_EQ(owner.asked, 1);
  EXPECT_EQ(bytes, 0U);
}

TEST_F(RecordsTest, OneThatIsNeededIsLookedAtAgain) {
  Owner owner;
  owner.may_forget = false;
  Records::Place place(records, owner);
  place.hold(300);
  EXPECT_EQ(dropped, 0U);
  owner.may_forget = true;
  place.hold(300);
  EXPECT_EQ(dropped, 1U);
  place.hold(0);  // as it is forgotten
  place.hold(10);
  EXPECT_EQ(bytes, 10U);
}

}  // namespace
}  // namespace lastcall::router
