#include "core/request_slab.hpp"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace lastcall::lifecycle {
namespace {

using Index = RequestSlab::Index;

TEST(RequestSlab, An_erased_place_is_used_again_with_another_generation) {
  RequestSlab slab;
  Index const first = slab.insert(1, "a", "");
  auto const generation = slab[first].generation;
  slab.erase(first);
  EXPECT_EQ(slab.find(1, "a"), RequestSlab::kNone);
  Index const second = slab.insert(2, "b", "");
  EXPECT_EQ(second, first);
  EXPECT_NE(slab[second].generation, generation);
  EXPECT_EQ(slab.size(), 1U);
}

TEST(RequestSlab, Entries_stand_in_the_order_of_their_begin) {
  RequestSlab slab;
  Index const a = slab.insert(1, "a", "");
  Index const b = slab.insert(1, "b", "");
  Index const c = slab.insert(1, "c", "");
  slab.erase(b);
  EXPECT_EQ(slab.oldest(), a);
  EXPECT_EQ(slab[a].links.newer, c);
  EXPECT_EQ(slab.newest(), c);
}

TEST(RequestSlab, Those_of_a_root_are_found_when_the_first_of_them_is_gone) {
  RequestSlab slab;
  Index const first = slab.insert(1, "a", "root");
  Index const second = slab.insert(1, "b", "root");
  slab.insert(1, "root", "root");
  EXPECT_EQ(slab.first_of_root("root"), first) << "its own name is no list";
  slab.erase(first);
  EXPECT_EQ(slab.first_of_root("root"), second);
  slab.erase(second);
  EXPECT_EQ(slab.first_of_root("root"), RequestSlab::kNone);
}

TEST(RequestSlab, Children_of_an_erased_parent_have_none) {
  RequestSlab slab;
  Index const parent = slab.insert(1, "p", "");
  Index const first = slab.insert(1, "a", "");
  Index const second = slab.insert(1, "b", "");
  slab.link(parent, first);
  slab.link(parent, second);
  EXPECT_EQ(slab.erase(parent), 2U);
  EXPECT_EQ(slab[first].links.parent, RequestSlab::kNone);
  EXPECT_EQ(slab[second].links.previous_sibling, RequestSlab::kNone);
}

TEST(RequestSlab, A_copy_finds_its_own_entries_when_the_original_is_gone) {
  auto original = std::make_unique<RequestSlab>();
  original->insert(1, std::string(40, 'a'), std::string(40, 'r'));
  RequestSlab copy(*original);
  original.reset();
  EXPECT_NE(copy.find(1, std::string(40, 'a')), RequestSlab::kNone);
  EXPECT_NE(copy.first_of_root(std::string(40, 'r')), RequestSlab::kNone);
}

TEST(RequestSlab, An_entry_that_moves_is_found_at_its_new_peer_alone) {
  RequestSlab slab;
  Index const index = slab.insert(1, "a", "");
  slab.move_to(index, 2);
  EXPECT_EQ(slab.find(1, "a"), RequestSlab::kNone);
  EXPECT_EQ(slab.find(2, "a"), index);
}

}  // namespace
}  // namespace lastcall::lifecycle
