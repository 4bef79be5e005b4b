// Formats a supervisor's status for people: JSON in, text out. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace lastcall::cli {

struct ViewOptions {
  bool color = false;
  std::size_t columns = 0;  // lines are broken between words to fit; 0: never
};

/// Several lines: phase, deadline, requests, endpoints, health with its reason, engine, registries.
/// Text that is not a status object is returned unchanged.
std::string status_text(std::string_view status_json, ViewOptions options);

/// One line with a bar that shows the progress of a drain. `most` is the largest number of requests
/// seen.
std::string drain_bar(std::string_view status_json, std::size_t& most);

}  // namespace lastcall::cli
