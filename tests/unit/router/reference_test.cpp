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

TEST(Reference, The_generated_pages_are_current) {
  std::string const what_to_do = "stale: run `ninja -C build/dev router_config_reference`";
  EXPECT_EQ(text_of("router-config.md"), reference_markdown()) << what_to_do;
  EXPECT_EQ(text_of("router-config.schema.json"), reference_schema()) << what_to_do;
}

}  // namespace
}  // namespace lastcall::router
