#include "telemetry/reload_log.hpp"

#include <algorithm>
#include <utility>

namespace lastcall::telemetry {
namespace {

constexpr std::size_t kLongestText = 400;
constexpr std::size_t kMostRecords = 100;

std::vector<std::string> texts(config::Problems const& problems) {
  std::vector<std::string> lines;
  for (config::Problem const& problem : problems) {
    lines.push_back(config::to_text(problem));
  }
  return lines;
}

void report(config::Difference const& difference, std::string_view not_live, Log& log) {
  if (difference.live) {
    log.info("configuration key changed", {{"key", difference.key},
                                           {"before", shortened(difference.before)},
                                           {"after", shortened(difference.after)}});
  } else {
    log.warning("configuration key not changed", {{"key", difference.key},
                                                  {"before", shortened(difference.before)},
                                                  {"after", shortened(difference.after)},
                                                  {"reason", not_live}});
  }
}

template <typename Element, typename Report>
void report_first(std::vector<Element> const& elements, Report report_one) {
  std::size_t const count = std::min(elements.size(), kMostRecords);
  std::for_each_n(elements.begin(), count, report_one);
}

}  // namespace

std::string shortened(std::string const& text) {
  return text.size() <= kLongestText ? text : text.substr(0, kLongestText) + "...";
}

Reload compared(config::Problems const& errors, config::Problems const& warnings,
                std::function<std::vector<config::Difference>()> const& differences) {
  Reload reload;
  reload.warnings = texts(warnings);
  reload.errors = texts(errors);
  if (reload.errors.empty()) {
    for (config::Difference& difference : differences()) {
      (difference.live ? reload.applied : reload.refused).push_back(std::move(difference));
    }
  }
  return reload;
}

void report(Reload const& reload, std::string_view not_live, Log& log) {
  auto const report_key = [&](config::Difference const& difference) {
    report(difference, not_live, log);
  };
  report_first(reload.applied, report_key);
  report_first(reload.refused, report_key);
  report_first(reload.errors, [&log](std::string const& text) {
    log.error("configuration error", {{"detail", text}});
  });
  if (reload.errors.empty()) {
    log.info("configuration reloaded",
             {{"applied", reload.applied.size()}, {"refused", reload.refused.size()}});
  } else {
    log.error("cannot reload: the configuration has errors, the old one stays",
              {{"errors", reload.errors.size()}});
  }
}

}  // namespace lastcall::telemetry
