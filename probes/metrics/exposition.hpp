// Merges two Prometheus texts: ours, followed by the engine's.
//
// Rules:
//  1. The engine's lines are passed on unchanged and in order, except for families that our text
//     already has: a scraper refuses a text that has a family twice.
//  2. For OpenMetrics our text is converted, and one `# EOF` ends the merged text.
//  3. If a scraper could not read the engine's text, or it is OpenMetrics without its end, a merged
//     text would make the scraper lose our metrics, too: then there is none.
//
// Pure, no thread rule. Source: the Prometheus text format 0.0.4; OpenMetrics 1.0.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lastcall::probes {

/// Whether a Content-Type or Accept header names OpenMetrics.
bool names_openmetrics(std::string_view header);

/// `ours` is in the text format 0.0.4. `openmetrics`: the engine's text and the result are in
/// OpenMetrics.
std::optional<std::string> merge_expositions(std::string_view ours, std::string_view engine,
                                             bool openmetrics);

}  // namespace lastcall::probes
