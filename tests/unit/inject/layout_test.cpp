// Manifests in many layouts, derived from a grammar; the fuzz target goes on where this ends.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/fuzz/inject_properties.hpp"
#include "tests/fuzz/manifest_grammar.hpp"
#include "tests/unit/inject/support.hpp"

namespace lastcall::inject {
namespace {

std::string derived(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> bytes(600);
  for (std::uint8_t& byte : bytes) {
    byte = static_cast<std::uint8_t>(random());
  }
  fuzz::Choices choose(bytes.data(), bytes.size());
  return fuzz::derive_manifests(choose);
}

TEST(Layout, Every_layout_is_injected_once_and_undone_byte_for_byte) {
  for (std::uint32_t seed = 0; seed < 120; ++seed) {
    std::string const manifests = derived(seed);
    Options with = options();
    with.is_native = seed % 3 != 0;
    with.config = seed % 4 == 0 ? "engine: {kind: vllm}\n" : "";
    Outcome const outcome = inject(one(manifests), with);
    ASSERT_EQ(refusals_of(outcome), std::vector<std::string>()) << "seed " << seed << '\n'
                                                                << manifests;
    ASSERT_EQ(outcome.changed.size(), 1U) << "seed " << seed << '\n' << manifests;
    ASSERT_EQ(uninjected(outcome.texts[0]), manifests) << "seed " << seed << '\n'
                                                       << outcome.texts[0];
    ASSERT_EQ(fuzz::fault_of(manifests, with), "") << "seed " << seed << '\n' << manifests;
  }
}

}  // namespace
}  // namespace lastcall::inject
