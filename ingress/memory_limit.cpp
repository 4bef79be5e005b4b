#include "ingress/memory_limit.hpp"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <vector>

#include "base/words.hpp"

namespace lastcall::ingress {
namespace {

/// Version 1 also represents "no limit" by a number, which is larger than any machine's memory.
constexpr std::uint64_t kNone = std::uint64_t{1} << 60U;

std::optional<std::uint64_t> limit_in(std::string const& file) {
  std::uint64_t limit = 0;
  std::ifstream in(file);
  bool const is_limit = in && in >> limit && limit < kNone;  // "max" is not a number
  return is_limit ? std::optional(limit) : std::nullopt;
}

void lower(std::optional<std::uint64_t>& limit, std::optional<std::uint64_t> other) {
  if (other && (!limit || *other < *limit)) {
    limit = other;
  }
}

/// The lowest limit of that cgroup and of its ancestors.
std::optional<std::uint64_t> limit_along(std::string const& mount, std::string path,
                                         std::string_view name) {
  std::optional<std::uint64_t> limit;
  while (true) {
    lower(limit, limit_in(mount + path + "/" + std::string(name)));
    std::size_t const parent = path.rfind('/');
    if (path.empty() || parent == std::string::npos) {
      return limit;
    }
    path.resize(parent);
  }
}

/// Whether the controllers include memory. A line of /proc/self/cgroup is
/// `number:controllers:path`.
bool names_memory(std::string_view controllers) {
  std::vector<std::string_view> const names = split(controllers, ",");
  return std::find(names.begin(), names.end(), "memory") != names.end();
}

}  // namespace

std::optional<std::uint64_t> memory_limit(std::string const& root) {
  std::optional<std::uint64_t> limit;
  std::ifstream listing(root + "/proc/self/cgroup");
  for (std::string line; std::getline(listing, line);) {
    std::size_t const first = line.find(':');
    std::size_t const second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    std::string const controllers = line.substr(first + 1, second - first - 1);
    std::string const path = line.substr(second + 1);
    if (controllers.empty()) {
      lower(limit, limit_along(root + "/sys/fs/cgroup", path == "/" ? "" : path, "memory.max"));
    } else if (names_memory(controllers)) {
      lower(limit, limit_along(root + "/sys/fs/cgroup/memory", path == "/" ? "" : path,
                               "memory.limit_in_bytes"));
    }
  }
  return limit;
}

}  // namespace lastcall::ingress
