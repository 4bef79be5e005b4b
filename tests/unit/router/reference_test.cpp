#include "router/reference.hpp"

#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace lastcall::router {
namespace {

std::string text_of(std::string const& name) {
  std::ifstream file(std::string(LASTCALL_DOCS) + "/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Reference, TheGeneratedPagesAreCurrent) {
  // Stale? ninja router_config_reference
  EXPECT_EQ(text_of("router-config.md"), reference_markdown());
  EXPECT_EQ(text_of("router-config.schema.json"), reference_schema());
}

}  // namespace
}  // namespace lastcall::router
