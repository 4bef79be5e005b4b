// docs/metrics.md and the families that the topics register say the same, in both directions.
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "probes/metrics/metrics.hpp"

namespace lastcall::probes::test {
namespace {

std::string type_word(MetricType type) {
  switch (type) {
    case MetricType::counter:
      return "counter";
    case MetricType::gauge:
      return "gauge";
    case MetricType::histogram:
      return "histogram";
  }
  return {};
}

/// The row that docs/metrics.md should have for a family.
std::string row_of(MetricFamily const& family) {
  std::istringstream words{std::string(family.labels)};
  std::string labels;
  for (std::string word; words >> word;) {
    labels += (labels.empty() ? "`" : ", `") + word + "`";
  }
  return "| `" + std::string(family.name) + "` | " + type_word(family.type) + " | " +
         (labels.empty() ? "none" : labels) + " | " + std::string(family.help) + " |";
}

TEST(MetricDocs, List_each_family_as_the_table_has_it_and_no_other) {
  std::map<std::string, std::string> in_code;
  Metrics const metrics({});
  for (auto const& family : metrics.families()) {
    EXPECT_TRUE(in_code.emplace(family.name, row_of(family)).second) << family.name << " twice";
  }
  std::ifstream file(LASTCALL_SOURCE_DIR "/docs/metrics.md");
  ASSERT_TRUE(file) << "no docs/metrics.md";
  std::map<std::string, std::string> in_docs;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| `")) {
      EXPECT_TRUE(in_docs.emplace(line.substr(3, line.find('`', 3) - 3), line).second) << line;
    }
  }
  EXPECT_EQ(in_docs, in_code);
}

TEST(MetricTable, Follows_the_naming_rules) {
  Metrics const metrics({});
  for (auto const& family : metrics.families()) {
    bool const is_total = family.name.ends_with("_total");
    EXPECT_EQ(is_total, family.type == MetricType::counter) << family.name;
    if (family.type == MetricType::histogram) {
      EXPECT_TRUE(family.name.ends_with("_seconds")) << family.name;
    }
    EXPECT_TRUE(family.name.starts_with("dynamo_") || family.name.starts_with("lastcall_"));
    EXPECT_EQ(family.help.find('\n'), std::string_view::npos) << family.name;
    EXPECT_FALSE(family.help.ends_with('.')) << family.name;
  }
}

}  // namespace
}  // namespace lastcall::probes::test
