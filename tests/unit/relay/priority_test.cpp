// The cases of tests/contract/priority.jsonl.
#include "relay/priority.hpp"

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/admission_limits.hpp"

namespace lastcall::relay {
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

TEST(Priority, More_than_512_bytes_are_ignored) {
  Fields fields;
  fields.add({"Priority", "u=1"});
  std::string const longest = "u=2," + std::string(505, ' ');
  fields.add({"Priority", longest});
  EXPECT_EQ(priority_of(fields), 2);
  fields.add({"Priority", "i"});
  EXPECT_EQ(priority_of(fields), lifecycle::kUsualPriority);
}

}  // namespace
}  // namespace lastcall::relay
