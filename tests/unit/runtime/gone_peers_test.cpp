#include "supervisor/runtime/sessions/gone_peers.hpp"

#include <chrono>
#include <numeric>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

namespace lastcall::runtime {
namespace {

constexpr int kCrowd = 60;

/// A peer with many requests costs this.
void be_slow() {
  auto const end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
  while (std::chrono::steady_clock::now() < end) {
  }
}

std::vector<ipc::PeerId> crowd() {
  std::vector<ipc::PeerId> all(kCrowd);
  std::iota(all.begin(), all.end(), ipc::PeerId{1});
  return all;
}

TEST(GonePeers, Crowd_is_reported_in_its_order_and_between_other_events) {
  boost::asio::io_context io;
  std::vector<ipc::PeerId> reported;
  GonePeers peers(io, [&](ipc::PeerId peer) {
    be_slow();
    reported.push_back(peer);
  });
  for (ipc::PeerId const peer : crowd()) {
    peers.hold(peer, GonePeers::kHold);
  }
  std::size_t before_other = 0;
  boost::asio::post(io, [&] {
    before_other = reported.size();
    peers.hold(kCrowd + 1, GonePeers::kHold);
    peers.release();
  });
  peers.release();
  io.run();
  EXPECT_GT(before_other, 0U);
  EXPECT_LT(before_other, std::size_t{kCrowd});
  std::vector<ipc::PeerId> expected = crowd();
  expected.push_back(kCrowd + 1);
  EXPECT_EQ(reported, expected);
}

TEST(GonePeers, Peer_that_ends_between_two_slices_is_reported_after_those_that_ended_before) {
  boost::asio::io_context io;
  std::vector<ipc::PeerId> reported;
  GonePeers peers(io, [&](ipc::PeerId peer) {
    be_slow();
    reported.push_back(peer);
  });
  for (ipc::PeerId const peer : crowd()) {
    peers.hold(peer, GonePeers::kHold);
  }
  boost::asio::post(io, [&] { peers.report(kCrowd + 1); });
  peers.release();
  io.run();
  std::vector<ipc::PeerId> expected = crowd();
  expected.push_back(kCrowd + 1);
  EXPECT_EQ(reported, expected);
}

TEST(GonePeers, Peer_that_nothing_has_to_precede_is_reported_at_once) {
  boost::asio::io_context io;
  std::vector<ipc::PeerId> reported;
  GonePeers peers(io, [&](ipc::PeerId peer) { reported.push_back(peer); });
  peers.hold(1, GonePeers::kHold);
  peers.report(2);
  EXPECT_EQ(reported, std::vector<ipc::PeerId>{2});
}

TEST(GonePeers, Release_in_a_report_reports_each_peer_once) {
  boost::asio::io_context io;
  std::vector<ipc::PeerId> reported;
  GonePeers* self = nullptr;
  GonePeers peers(io, [&](ipc::PeerId peer) {
    reported.push_back(peer);
    self->release();
  });
  self = &peers;
  for (ipc::PeerId const peer : crowd()) {
    peers.hold(peer, GonePeers::kHold);
  }
  peers.release();
  io.run();
  EXPECT_EQ(reported, crowd());
}

TEST(GonePeers, Rest_of_a_crowd_is_not_reported_once_its_owner_is_gone) {
  boost::asio::io_context io;
  std::size_t reported = 0;
  {
    GonePeers peers(io, [&](ipc::PeerId) {
      be_slow();
      ++reported;
    });
    for (ipc::PeerId const peer : crowd()) {
      peers.hold(peer, GonePeers::kHold);
    }
    peers.release();
  }
  std::size_t const at_end = reported;
  io.run();
  EXPECT_EQ(reported, at_end);
}

}  // namespace
}  // namespace lastcall::runtime
