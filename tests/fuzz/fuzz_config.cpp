// The configuration on any bytes: as a file and as flags. Checked:
//  1. every problem names its place and its text, in one line that steers no terminal;
//  2. what is taken can be written down key by key, and reads the same then;
//  3. whatever the values, the budgets of a stop fit into its total.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/decode.hpp"
#include "config/keys.hpp"
#include "config/load.hpp"
#include "config/plan.hpp"
#include "config/validate.hpp"
#include "tests/fuzz/work.hpp"

namespace {

using namespace lastcall::config;
using lastcall::fuzz::require;

void check(Problems const& problems) {
  for (Problem const& problem : problems) {
    std::string const text = to_text(problem);
    require(!problem.text.empty() && !text.empty());
    require(std::none_of(text.begin(), text.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || c == '\x7f';
    }));
  }
}

/// Builds the same configuration from the text of each of its values.
Config written_and_read(Config& config) {
  Config again;
  Problems problems;
  Places places;
  for (Key const& key : keys_of(config)) {
    std::string text = value_text(key);
    if (text.empty() || std::holds_alternative<Section>(key.slot)) {
      continue;
    }
    std::string_view path = key.path;
    while (!path.empty()) {
      std::size_t const dot = path.rfind('.');
      text = "{" + std::string(path.substr(dot == path.npos ? 0 : dot + 1)) + ": " + text + "}";
      path = path.substr(0, dot == path.npos ? 0 : dot);
    }
    decode(parse_document(text, "again", problems), again, problems, places);
  }
  require(problems.empty());
  return again;
}

void judge(Config& config, Places const& places, Problems& errors) {
  Problems warnings;
  PodGrace const grace{std::chrono::seconds(30), ""};
  validate(config, places, grace, {errors, warnings});
  check(errors);
  check(warnings);
  Plan const plan = make_plan(config, grace);
  lastcall::lifecycle::Budgets const& b = plan.budgets;
  require(b.deregister_timeout + b.late_accept + b.settle + b.reserve <= b.total);
  require(b.reserve.count() >= 0 && b.late_accept.count() >= 0);
  require(differences(config, written_and_read(config)).empty());
}

void as_file(std::string_view bytes) {
  Config config;
  Problems errors;
  Places places;
  decode(parse_document(bytes, "file", errors), config, errors, places);
  check(errors);
  if (errors.empty()) {
    judge(config, places, errors);
  }
}

void as_flags(std::string_view bytes) {
  LoadOptions options;
  options.path = "/dev/null";
  while (!bytes.empty() && options.overrides.size() < 20) {
    std::size_t const end = std::min(bytes.find('\n'), bytes.size());
    options.overrides.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  Loaded loaded = load(options, [](char const*) { return std::nullopt; });
  check(loaded.errors);
  check(loaded.warnings);
  for (Problem const& problem : loaded.errors) {
    require(!problem.place.source.empty() || !problem.key.empty());
  }
  if (loaded.errors.empty()) {
    // load() fills in the names of registries, which their rows do not know as unset.
    require(differences(loaded.config, written_and_read(loaded.config)).empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  lastcall::fuzz::BoundedWork const work(size, {.a_byte = 2'000, .besides = 1'000'000});
  std::string_view const bytes(reinterpret_cast<char const*>(data), size);
  constexpr std::string_view kFlags = "flags\n";
  if (bytes.starts_with(kFlags)) {
    as_flags(bytes.substr(kFlags.size()));
  } else {
    as_file(bytes);
  }
  return 0;
}
