#include "supervisor/runtime/host/descriptor_shares.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace lastcall::runtime {
namespace {

TEST(DescriptorShares, All_connections_together_leave_what_the_supervisor_needs_itself) {
  for (std::uint64_t limit :
       {64U, 128U, 256U, 1'000U, 1'024U, 4'096U, 8'192U, 65'536U, 1'048'576U}) {
    for (std::uint32_t threads : {1U, 8U}) {
      DescriptorShares const shares = descriptor_shares(limit, threads);
      std::uint64_t const taken = 2 * (shares.sessions + shares.operators + shares.clients);
      EXPECT_LE(taken + std::min<std::uint64_t>(limit / 4, 384), limit) << limit;
      EXPECT_GE(shares.clients, limit / 4) << limit;
      EXPECT_GT(shares.sessions, 0U) << limit;
      EXPECT_GT(shares.operators, 0U) << limit;
    }
  }
}

TEST(DescriptorShares, A_limit_that_suffices_cuts_no_session) {
  DescriptorShares const shares = descriptor_shares(descriptor_shares(0, 1).wanted, 1);
  EXPECT_EQ(shares.sessions, 1'024U);
  EXPECT_EQ(shares.operators, 64U);
  EXPECT_LT(descriptor_shares(shares.wanted - 8, 1).sessions, 1'024U);
}

}  // namespace
}  // namespace lastcall::runtime
