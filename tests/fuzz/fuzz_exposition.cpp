// An engine's metrics, merged with ours. Checked: ours comes first and whole, every line after it
// is one of the engine's that a scraper can read, and OpenMetrics has its one end.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "probes/checks/prometheus_text.hpp"
#include "probes/metrics/exposition.hpp"
#include "tests/fuzz/work.hpp"

namespace {

using namespace lastcall::probes;
using lastcall::fuzz::require;

constexpr std::string_view kOurs =
    "# TYPE a_total counter\na_total 3\n# TYPE b_seconds histogram\nb_seconds_count 1\n";
constexpr std::string_view kOursInOpenMetrics =
    "# TYPE a counter\na_total 3\n# TYPE b_seconds histogram\nb_seconds_count 1\n";
constexpr std::string_view kEnd = "# EOF";

void check(std::string_view engine, bool openmetrics) {
  auto const merged = merge_expositions(kOurs, engine, openmetrics);
  if (!merged) {
    return;
  }
  std::string_view text = *merged;
  std::string_view const ours = openmetrics ? kOursInOpenMetrics : kOurs;
  require(text.starts_with(ours) && text.ends_with('\n'));
  text.remove_prefix(ours.size());
  std::size_t ends = 0;
  while (!text.empty()) {
    std::string_view const line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() + 1);
    ends += line == kEnd ? 1 : 0;
    require(line == kEnd || engine.find(line) != std::string_view::npos);
    require(line.starts_with('#') || series_line(line).value());
    require(line != kEnd || text.empty());
  }
  require(ends == (openmetrics ? 1 : 0));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  lastcall::fuzz::BoundedWork const work(size, {.a_byte = 300, .besides = 20'000});
  std::string const engine(data, data + size);
  check(engine, false);
  check(engine, true);
  return 0;
}
