#include "shim/name_list.hpp"

#include <string>

#include <gtest/gtest.h>

namespace lastcall::shim {
namespace {

ProcessName named(std::string const& text) {
  ProcessName name;
  name.size = static_cast<unsigned char>(text.copy(name.bytes, sizeof name.bytes));
  return name;
}

std::string written(NameList const& list) {
  TextOf<kLongestNames> out;
  list.write(out);
  return std::string(out.view());
}

TEST(NameList, Each_name_is_there_once) {
  NameList list;
  EXPECT_EQ(written(list), "[]");
  for (char const* const text : {"core_0", "python3", "python3", "a\"b"}) {
    list.add(named(text));
  }
  EXPECT_EQ(written(list), R"(["core_0","python3","a\"b"])");
}

TEST(NameList, A_list_that_does_not_name_all_is_not_sent) {
  NameList list;
  for (std::size_t i = 0; i < NameList::kMost; ++i) {
    list.add(named("core_" + std::to_string(i)));
  }
  list.add(named("core_0"));
  EXPECT_NE(written(list), "");
  list.add(named("one too many"));
  EXPECT_EQ(written(list), "");

  NameList other;
  other.add(named(""));
  EXPECT_EQ(written(other), "") << "it was gone before its name was read";
}

TEST(NameList, Names_that_grow_when_they_are_written_are_sent_whole_or_not_at_all) {
  NameList list;
  for (std::size_t i = 0; i < NameList::kMost; ++i) {
    list.add(named(std::string(60, '\x01') + std::to_string(i)));
  }
  EXPECT_EQ(written(list), "");
}

}  // namespace
}  // namespace lastcall::shim
