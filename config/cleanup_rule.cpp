#include "config/cleanup_rule.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "base/words.hpp"

namespace lastcall::config {
namespace {

bool is_fixed(std::string_view part) {
  return part.find_first_of("*?[") == std::string_view::npos;
}

}  // namespace

std::string refuse_cleanup_path(std::string_view pattern) {
  if (!pattern.starts_with('/')) {
    return "not an absolute path";
  }
  std::vector<std::string_view> const parts = split(pattern, "/");
  if (std::any_of(parts.begin(), parts.end(),
                  [](std::string_view part) { return part == "." || part == ".."; })) {
    return "a path with '.' or '..'";
  }
  std::string const clean = "/" + joined(parts, "/");
  constexpr std::array<std::string_view, 4> kScratch{"/tmp/", "/var/tmp/", "/run/", "/dev/shm/"};
  bool const is_scratch =
      std::any_of(kScratch.begin(), kScratch.end(), [&](std::string_view scratch) {
        return clean.size() > scratch.size() && clean.starts_with(scratch);
      });
  if (is_scratch) {
    return {};
  }
  if (parts.size() < 3 || !is_fixed(parts[0]) || !is_fixed(parts[1])) {
    return "outside of /tmp, /var/tmp, /run and /dev/shm at least two fixed directories must "
           "come before what is removed";
  }
  return {};
}

}  // namespace lastcall::config
