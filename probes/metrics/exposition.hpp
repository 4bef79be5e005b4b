// Two Prometheus texts as one: ours, and the engine's after it.
//
// Rules:
//  1. The engine's lines are passed on as they are, in their order. Left out are families that ours
//     has already: a scraper refuses a text that has one twice.
//  2. In OpenMetrics ours is rewritten to it, and one `# EOF` ends the whole.
//  3. A text of the engine that a scraper could not read, or one in OpenMetrics that does not end,
//     would cost it ours too: then there is no merged one.
//
// Pure, no thread rule. Source: the Prometheus text format 0.0.4; OpenMetrics 1.0.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lastcall::probes {

/// By a Content-Type or an Accept.
bool names_openmetrics(std::string_view header);

/// `ours`: in the text format 0.0.4. `openmetrics`: what the engine's is in, and the result.
std::optional<std::string> merge_expositions(std::string_view ours, std::string_view engine,
                                             bool openmetrics);

}  // namespace lastcall::probes
