// The key table against everything that is made from it.
#include "config/reference.hpp"

#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/decode.hpp"
#include "config/keys.hpp"
#include "tests/unit/config/support.hpp"

namespace lastcall::config {
namespace {

using testing::IsEmpty;

/// Every key that a file can have, lists written as "health.checks[]".
void collect(Keys const& keys, std::string const& prefix, std::set<std::string>& paths) {
  for (Key const& key : keys) {
    if (OneOf const* one_of = std::get_if<OneOf>(&key.slot)) {
      for (Alternative const& alternative : one_of->alternatives) {
        std::string const path = prefix + std::string(alternative.name);
        paths.insert(path);
        collect(alternative.select(), path + ".", paths);
      }
      continue;
    }
    paths.insert(prefix + std::string(key.path));
    if (Items const* items = std::get_if<Items>(&key.slot)) {
      collect(items->append(), prefix + std::string(key.path) + "[].", paths);
    }
  }
}

std::set<std::string> all_paths() {
  Config config;
  std::set<std::string> paths;
  collect(keys_of(config), "", paths);
  return paths;
}

TEST(Reference, The_committed_pages_are_those_that_the_table_gives) {
  EXPECT_EQ(read_text(LASTCALL_DOCS "/config.md"), reference_markdown())
      << "docs/config.md is stale: run `ninja -C build/dev config_reference`";
  EXPECT_EQ(read_text(LASTCALL_DOCS "/config.schema.json"), reference_schema())
      << "docs/config.schema.json is stale: run `ninja -C build/dev config_reference`";
}

TEST(Reference, Every_section_has_a_row_before_its_keys) {
  Config config;
  std::set<std::string_view> seen;
  for (Key const& key : keys_of(config)) {
    EXPECT_TRUE(seen.insert(key.path).second) << key.path << " is there twice";
    if (std::size_t const dot = key.path.rfind('.'); dot != std::string_view::npos) {
      EXPECT_TRUE(seen.contains(key.path.substr(0, dot))) << key.path;
    }
  }
}

TEST(Reference, Every_key_is_explained_and_so_is_leaving_it_out) {
  Config config;
  for (Key const& key : keys_of(config)) {
    EXPECT_TRUE(key.doc.ends_with('.')) << key.path;
    bool const is_section = std::holds_alternative<Section>(key.slot);
    EXPECT_TRUE(is_section || !value_text(key).empty() || !key.unset.empty()) << key.path;
  }
}

TEST(Reference, Every_key_is_on_the_page) {
  std::string const page = reference_markdown();
  Config config;
  for (Key const& key : keys_of(config)) {
    bool const is_top_level = key.path.find('.') == std::string_view::npos;
    std::string const text =
        is_top_level ? "## " + std::string(key.path) : "| `" + std::string(key.path) + "` |";
    EXPECT_THAT(page, testing::HasSubstr(text));
  }
}

TEST(Reference, Every_default_decodes_to_itself) {
  Config config;
  for (Key const& key : keys_of(config)) {
    std::string const value = value_text(key);
    if (value.empty()) {
      continue;
    }
    std::string yaml;
    std::string path(key.path);
    std::string indent;
    for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.')) {
      yaml += indent + path.substr(0, dot) + ":\n";
      indent += "  ";
      path = path.substr(dot + 1);
    }
    yaml += indent + path + ": " + value + "\n";
    Loaded const loaded = load_text(yaml);
    EXPECT_THAT(texts(loaded.errors), IsEmpty()) << yaml;
    for (Difference const& difference : differences(Config{}, loaded.config)) {
      // Its section switches the ingress on, whatever is in it; all else stays the default.
      EXPECT_EQ(difference.key, "ingress.enabled") << yaml;
    }
  }
}

class Examples : public testing::TestWithParam<char const*> {};

TEST_P(Examples, Load_without_errors_and_warnings) {
  LoadOptions options;
  options.path = std::string(LASTCALL_EXAMPLES "/") + GetParam();
  Loaded const loaded = load(options, environment_of({}));
  EXPECT_EQ(loaded.source, *options.path);
  EXPECT_THAT(texts(loaded.errors), IsEmpty());
  EXPECT_THAT(texts(loaded.warnings), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Files, Examples,
                         testing::Values("full.yaml", "minimal.yaml", "ingress.yaml"),
                         [](auto const& tested) {
                           std::string name = tested.param;
                           return name.substr(0, name.find('.'));
                         });

TEST(Reference, The_full_example_has_every_key) {
  Problems problems;
  Places places;
  Config config;
  decode(parse_document(read_text(LASTCALL_EXAMPLES "/full.yaml"), "full.yaml", problems), config,
         problems, places);
  EXPECT_THAT(texts(problems), IsEmpty());
  std::set<std::string> used;
  for (auto const& [path, place] : places) {
    used.insert(std::regex_replace(path, std::regex("\\[[0-9]+\\]"), "[]"));
  }
  for (std::string const& path : all_paths()) {
    EXPECT_TRUE(used.contains(path)) << path << " is missing in the example";
  }
}

TEST(Reference, Values_of_the_full_example_print_as_YAML_that_decodes_to_them) {
  LoadOptions options;
  options.path = LASTCALL_EXAMPLES "/full.yaml";
  Config example = load(options, environment_of({})).config;
  std::vector<std::string> flags;
  for (Key const& key : keys_of(example)) {
    std::string value = value_text(key);
    if (value.empty()) {
      continue;
    }
    // Flags take single values as they are, without the quotes of YAML.
    if (value.front() == '"') {
      value = value.substr(1, value.size() - 2);
    }
    std::string flag(key.path);
    flag += "=";
    flag += value;
    flags.push_back(std::move(flag));
  }
  // A flag is raw, and a mode must be quoted in files only.
  Loaded const again = load_text("", flags);
  EXPECT_THAT(texts(again.errors), IsEmpty());
  for (Difference const& difference : differences(example, again.config)) {
    ADD_FAILURE() << difference.key << ": " << difference.before << " became " << difference.after;
  }
}

}  // namespace
}  // namespace lastcall::config
