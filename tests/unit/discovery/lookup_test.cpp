// Names to addresses; what hangs is tests/integration/registries/test_hanging_registries.py.
#include "discovery/lookup.hpp"

#include <algorithm>

#include "tests/unit/discovery/loop.hpp"

namespace lastcall::discovery::test {
namespace {

class LookupTest : public LoopTest {
 protected:
  Lookup::Found find(std::string const& host) {
    return lookup_.find(host, in(Duration{20'000}), interrupted_);
  }

  Lookup lookup_;
  std::atomic<bool> interrupted_ = false;
};

TEST_F(LookupTest, A_numeric_address_is_itself) {
  EXPECT_EQ(find("127.0.0.1").addresses, std::vector<std::string>{"127.0.0.1"});
  EXPECT_EQ(find("::1").addresses, std::vector<std::string>{"::1"});
}

TEST_F(LookupTest, A_name_has_the_addresses_that_the_system_knows) {
  auto const found = find("localhost");
  EXPECT_TRUE(std::any_of(found.addresses.begin(), found.addresses.end(), [](auto const& address) {
    return address == "127.0.0.1" || address == "::1";
  })) << found.error;
}

TEST_F(LookupTest, A_name_that_nobody_has_is_reported) {
  auto const found = find("no one.invalid");  // refused without a lookup
  EXPECT_TRUE(found.addresses.empty());
  EXPECT_NE(found.error.find("cannot look up no one.invalid: "), std::string::npos) << found.error;
}

TEST_F(LookupTest, An_interrupted_one_is_not_waited_for) {
  interrupted_ = true;
  auto const began = TimePoint::clock::now();
  find("localhost");
  EXPECT_LT(TimePoint::clock::now() - began, Duration{10'000});
}

}  // namespace
}  // namespace lastcall::discovery::test
