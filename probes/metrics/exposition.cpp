#include "probes/metrics/exposition.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

#include "base/words.hpp"
#include "probes/checks/prometheus_text.hpp"

namespace lastcall::probes {
namespace {

constexpr std::string_view kTotal = "_total";
constexpr std::array<std::string_view, 4> kParts{"_bucket", "_sum", "_count", "_created"};

/// Removes the first line and returns it without its line end.
std::string_view take_line(std::string_view& text) {
  std::string_view line = take_part(text, '\n');
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return line;
}

/// In OpenMetrics a counter's family is named without the `_total` of its series.
std::string_view family_of(std::string_view name) {
  return name.ends_with(kTotal) ? name.substr(0, name.size() - kTotal.size()) : name;
}

/// The parts of `# TYPE name type`; the keyword is empty for any other line.
struct Metadata {
  std::string_view keyword;
  std::string_view name;
  std::string_view rest;  // everything after the name
};

constexpr std::string_view kBlanks = " \t";

/// A scraper takes any number of blanks.
Metadata metadata_of(std::string_view line) {
  std::size_t const at = line.find_first_not_of(kBlanks, 1);
  if (!line.starts_with('#') || at == std::string_view::npos || at == 1) {
    return {};
  }
  for (std::string_view const keyword : {"# HELP ", "# TYPE ", "# UNIT "}) {
    std::string_view const word = keyword.substr(2, keyword.size() - 3);
    std::string_view rest = line.substr(at);
    if (rest.starts_with(word) && rest.size() > word.size() &&
        kBlanks.find(rest[word.size()]) != std::string_view::npos) {
      rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks, word.size()), rest.size()));
      std::string_view const name = rest.substr(0, rest.find_first_of(kBlanks));
      return {keyword, name, rest.substr(name.size())};
    }
  }
  return {};
}

/// Whether a scraper can read a line that begins with `#`. One that it cannot read would cost it
/// the whole text, as a metadata line without a name does; OpenMetrics has no remarks either.
bool is_readable(Metadata const& data, bool openmetrics) {
  constexpr std::array<std::string_view, 9> kTypes{"counter", "gauge",    "histogram",
                                                   "summary", "untyped",  "unknown",
                                                   "info",    "stateset", "gaugehistogram"};
  constexpr std::size_t kOfText = 5;
  constexpr std::size_t kOnlyText = 4;  // `untyped`, which OpenMetrics does not have
  if (data.keyword.empty()) {
    return !openmetrics;
  }
  if (!is_metric_name(data.name)) {
    return !openmetrics && data.keyword == "# UNIT ";  // a remark there
  }
  if (data.keyword != "# TYPE ") {
    return true;
  }
  std::string_view const type = data.rest.empty() ? data.rest : data.rest.substr(1);
  auto const found =
      static_cast<std::size_t>(std::find(kTypes.begin(), kTypes.end(), type) - kTypes.begin());
  return openmetrics ? found != kOnlyText && found < kTypes.size() : found < kOfText;
}

class Families {
 public:
  explicit Families(std::string_view text) {
    while (!text.empty()) {
      Metadata const data = metadata_of(take_line(text));
      if (data.keyword == "# TYPE ") {
        names_.insert(family_of(data.name));
        if (data.rest == " histogram" || data.rest == " summary") {
          in_parts_.insert(data.name);
        }
      }
    }
  }

  bool has(std::string_view name) const {
    return names_.contains(family_of(name)) ||
           std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) {
             return name.ends_with(part) &&
                    in_parts_.contains(name.substr(0, name.size() - part.size()));
           });
  }

 private:
  std::unordered_set<std::string_view> names_;
  std::unordered_set<std::string_view> in_parts_;
};

void append_line(std::string& out, std::string_view line) {
  out.append(line).push_back('\n');
}

void append_as_openmetrics(std::string& out, std::string_view text) {
  while (!text.empty()) {
    std::string_view const line = take_line(text);
    Metadata const data = metadata_of(line);
    if (data.keyword.empty()) {
      append_line(out, line);
    } else {
      append_line(out.append(data.keyword).append(family_of(data.name)), data.rest);
    }
  }
}

}  // namespace

bool names_openmetrics(std::string_view header) {
  return header.find("application/openmetrics-text") != std::string_view::npos;
}

std::optional<std::string> merge_expositions(std::string_view ours, std::string_view engine,
                                             bool openmetrics) {
  constexpr std::string_view kEnd = "# EOF";
  Families const known(ours);
  std::string out;
  out.reserve(ours.size() + engine.size() + kEnd.size() + 2);
  if (openmetrics) {
    append_as_openmetrics(out, ours);
  } else {
    out.append(ours);
  }
  bool has_ended = false;
  while (!engine.empty() && !has_ended) {
    std::string_view const line = take_line(engine);
    has_ended = line == kEnd;
    if (line.empty() || has_ended) {
      continue;
    }
    Metadata const data = metadata_of(line);
    std::string_view name = data.name;
    if (line.starts_with('#')) {
      if (!is_readable(data, openmetrics)) {
        return std::nullopt;
      }
    } else {
      SeriesLine const series = series_line(line);
      if (!is_metric_name(series.name) || !series.value()) {
        return std::nullopt;
      }
      name = series.name;
    }
    if (name.empty() || !known.has(name)) {
      append_line(out, line);
    }
  }
  if (openmetrics) {
    append_line(out, kEnd);
  }
  return has_ended || !openmetrics ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace lastcall::probes
