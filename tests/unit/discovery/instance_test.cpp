#include "discovery/instance.hpp"

#include <set>

#include <gtest/gtest.h>

namespace lastcall::discovery::test {
namespace {

struct Vector {
  std::string_view pod_uid;
  std::string_view endpoint;
  std::string_view hex;
};

// Computed apart from the code, by hand-written FNV-1a in another language. They must never change:
// a supervisor that computes other ids does not find the entries of the version before it.
constexpr Vector kVectors[] = {
    {"6f1a7c1e-52b3-4d0c-9a54-0c5d9c1b2e11", "generate", "41afa0b72b427"},
    {"6f1a7c1e-52b3-4d0c-9a54-0c5d9c1b2e11", "prefill", "17b0fe02a17435"},
    {"", "generate", "2e56c8f963e58"},
    {"host/pid:[4026531836]", "v1/chat", "e29eaacdc9091"},
    {"", "", "3bd4c8601b2a4"},
};

TEST(InstanceId, Has_its_documented_values) {
  for (auto const& vector : kVectors) {
    EXPECT_EQ(instance_hex(instance_id(vector.pod_uid, vector.endpoint)), vector.hex)
        << vector.pod_uid << " " << vector.endpoint;
  }
}

TEST(InstanceId, Fits_into_a_double) {
  for (int i = 0; i < 10'000; ++i) {
    auto const id = instance_id("pod-" + std::to_string(i), "generate");
    EXPECT_GT(id, 0U);
    EXPECT_LT(id, std::uint64_t{1} << 53);
    EXPECT_EQ(static_cast<std::uint64_t>(static_cast<double>(id)), id);
  }
}

TEST(InstanceId, Tells_pods_and_endpoints_apart) {
  std::set<std::uint64_t> ids;
  for (int pod = 0; pod < 1000; ++pod) {
    for (auto const* const endpoint : {"generate", "clear_kv_blocks", "prefill"}) {
      ids.insert(instance_id("6f1a-" + std::to_string(pod), endpoint));
    }
  }
  EXPECT_EQ(ids.size(), 3000U);
  EXPECT_NE(instance_id("ab", "c"), instance_id("a", "bc"));
}

TEST(InstanceHex, Is_lower_case_without_padding) {
  EXPECT_EQ(instance_hex(0x1a2b), "1a2b");
  EXPECT_EQ(instance_hex((std::uint64_t{1} << 53) - 1), "1fffffffffffff");
}

TEST(HostIdentity, Is_stable_and_not_empty) {
  EXPECT_EQ(host_identity(), host_identity());
  EXPECT_NE(host_identity(), "/");
}

}  // namespace
}  // namespace lastcall::discovery::test
