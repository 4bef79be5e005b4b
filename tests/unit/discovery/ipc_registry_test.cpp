#include "discovery/ipc_registry.hpp"

#include "tests/unit/discovery/loop.hpp"

namespace lastcall::discovery::test {
namespace {

class IpcRegistryTest : public LoopTest {
 protected:
  void deregister(Duration within = Duration{20'000}) {
    result_.reset();
    registry_.deregister(in(within), [this](RegistryResult result) { result_ = result; });
    EXPECT_FALSE(result_) << "called from inside the call";
  }
  bool ends() {
    return run_until([this] { return result_.has_value(); });
  }

  std::vector<PeerId> peers_;
  int asked_ = 0;
  std::optional<TimePoint> expected_until_;
  std::optional<RegistryResult> result_;
  IpcRegistry registry_{io_.get_executor(),
                        [this] {
                          ++asked_;
                          return peers_;
                        },
                        [this] { return expected_until_; }};
};

TEST_F(IpcRegistryTest, Registering_is_confirmed_without_asking) {
  registry_.register_instances(in(Duration{1000}),
                               [this](RegistryResult result) { result_ = result; });
  ASSERT_TRUE(ends());
  EXPECT_TRUE(result_->confirmed);
  EXPECT_EQ(asked_, 0);
}

TEST_F(IpcRegistryTest, Without_peers_there_is_nothing_to_remove) {
  deregister();
  ASSERT_TRUE(ends());
  EXPECT_TRUE(result_->confirmed);
}

TEST_F(IpcRegistryTest, Peers_of_an_earlier_life_are_waited_for) {
  expected_until_ = in(Duration{20'000});
  deregister();
  run_for(Duration{20});
  EXPECT_FALSE(result_) << "nobody was there to be asked";
  registry_.peer_joined(1);
  expected_until_.reset();
  run_for(Duration{20});
  EXPECT_FALSE(result_);
  registry_.peer_done(1);
  EXPECT_TRUE(result_);
}

TEST_F(IpcRegistryTest, Peers_of_an_earlier_life_that_stay_away_have_nothing_to_remove) {
  expected_until_ = in(Duration{20});
  deregister();
  run_for(Duration{10});
  EXPECT_FALSE(result_);
  run_for(Duration{20});
  expected_until_.reset();
  ASSERT_TRUE(ends());
  EXPECT_TRUE(result_->confirmed);
}

TEST_F(IpcRegistryTest, Is_confirmed_when_each_peer_has_acked) {
  peers_ = {1, 2};
  deregister();
  registry_.peer_done(1);
  registry_.peer_done(1);  // twice is one
  registry_.peer_done(7);  // was not asked
  run_for(Duration{20});
  EXPECT_FALSE(result_);
  registry_.peer_done(2);
  ASSERT_TRUE(result_);
  EXPECT_TRUE(result_->confirmed);
}

TEST_F(IpcRegistryTest, A_peer_whose_process_is_gone_needs_no_ack) {
  peers_ = {1, 2};
  deregister();
  registry_.peer_done(1);
  registry_.peer_gone(2);
  ASSERT_TRUE(result_);
  EXPECT_TRUE(result_->confirmed);
}

TEST_F(IpcRegistryTest, A_peer_that_joins_meanwhile_is_waited_for_too) {
  peers_ = {1};
  deregister();
  registry_.peer_joined(2);
  registry_.peer_done(1);
  run_for(Duration{20});
  EXPECT_FALSE(result_);
  registry_.peer_done(2);
  EXPECT_TRUE(result_);
}

TEST_F(IpcRegistryTest, A_process_that_is_back_on_another_connection_owes_one_answer) {
  peers_ = {1, 2};
  deregister(Duration{50});
  registry_.peer_done(2);
  registry_.peer_joined(3);
  registry_.peer_replaced(1);
  registry_.peer_replaced(1);
  EXPECT_FALSE(result_);
  ASSERT_TRUE(ends());
  EXPECT_NE(result_->reason.find("1 of 2"), std::string::npos) << result_->reason;
  deregister();
  registry_.peer_done(2);
  registry_.peer_joined(3);
  registry_.peer_replaced(1);
  registry_.peer_done(3);
  ASSERT_TRUE(result_);
  EXPECT_TRUE(result_->confirmed);
}

TEST_F(IpcRegistryTest, The_last_peer_of_an_earlier_life_ends_the_waiting_when_it_is_back) {
  expected_until_ = in(Duration{20'000});
  deregister();
  registry_.peer_joined(1);
  registry_.peer_done(1);
  registry_.peers_may_be_back();
  run_for(Duration{20});
  EXPECT_FALSE(result_) << "it has not announced its requests";
  expected_until_.reset();
  registry_.peers_may_be_back();
  ASSERT_TRUE(result_);
  EXPECT_TRUE(result_->confirmed);
  registry_.peers_may_be_back();
}

TEST_F(IpcRegistryTest, Silence_is_a_failure_that_counts_the_silent) {
  peers_ = {1, 2, 3};
  deregister(Duration{50});
  registry_.peer_done(2);
  ASSERT_TRUE(ends());
  EXPECT_FALSE(result_->confirmed);
  EXPECT_NE(result_->reason.find("2 of 3"), std::string::npos) << result_->reason;
  registry_.peer_done(1);  // late, and harmless
}

TEST_F(IpcRegistryTest, Can_be_asked_again) {
  peers_ = {1};
  deregister(Duration{20});
  ASSERT_TRUE(ends());
  deregister();
  registry_.peer_done(1);
  ASSERT_TRUE(result_);
  EXPECT_TRUE(result_->confirmed);
  EXPECT_EQ(asked_, 2);
}

}  // namespace
}  // namespace lastcall::discovery::test
