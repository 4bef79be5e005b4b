// The cases of tests/contract/priority.jsonl.
#include "ingress/priority.hpp"

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace lastcall::ingress {
namespace {

TEST(Priority, Is_read_from_the_field_as_every_implementation_does) {
  std::ifstream in(LASTCALL_SOURCE_DIR "/tests/contract/priority.jsonl");
  std::size_t count = 0;
  for (std::string line; std::getline(in, line); ++count) {
    auto const one = nlohmann::json::parse(line);
    auto const values = one["fields"].get<std::vector<std::string>>();
    Fields fields;
    fields.add({"Host", "u=7"});
    for (std::string const& value : values) {
      fields.add({"pRiority", value});
    }
    EXPECT_EQ(priority_of(fields), one["priority"].get<int>()) << one["case"];
  }
  EXPECT_GT(count, 0U);
}

}  // namespace
}  // namespace lastcall::ingress
