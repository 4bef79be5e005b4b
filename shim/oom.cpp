#include "shim/oom.hpp"

#include <optional>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "shim/parse.hpp"
#include "shim/text.hpp"

namespace lastcall::shim {
namespace {

constexpr std::string_view kCounter = "oom_kill ";

template <std::size_t Size>
std::string_view read_file(char const* path, char (&buffer)[Size]) {
  int const fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return {};
  }
  ssize_t const count = read(fd, buffer, Size);
  close(fd);
  return {buffer, count > 0 ? static_cast<std::size_t>(count) : 0};
}

/// The number after `oom_kill ` at the beginning of a line.
std::optional<std::int64_t> find_counter(std::string_view text) {
  while (!text.empty()) {
    std::size_t const newline = text.find('\n');
    std::string_view const line = text.substr(0, newline);
    if (line.starts_with(kCounter)) {
      return parse_unsigned(line.substr(kCounter.size()));
    }
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
  }
  return std::nullopt;
}

std::optional<std::int64_t> read_counter(char const* path) {
  char buffer[1024];
  return find_counter(read_file(path, buffer));
}

/// The path of the shim's cgroup in one hierarchy, from a line `7:memory:/a/b` (v1) or `0::/a/b`
/// (v2).
std::string_view cgroup_path(std::string_view listing, bool version_1) {
  while (!listing.empty()) {
    std::size_t const newline = listing.find('\n');
    std::string_view line = listing.substr(0, newline);
    listing.remove_prefix(newline == std::string_view::npos ? listing.size() : newline + 1);
    std::size_t const first = line.find(':');
    std::size_t const second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) {
      continue;
    }
    std::string_view const controllers = line.substr(first + 1, second - first - 1);
    if (controllers == (version_1 ? "memory" : "")) {
      return line.substr(second + 1);
    }
  }
  return {};
}

}  // namespace

void OomCounter::watch() {
  before_ = 0;
  if (find()) {
    before_ = read();
  }
}

int OomCounter::open_file() {
  return path_[0] != '\0' || find() ? open(path_, O_RDONLY | O_CLOEXEC) : -1;
}

bool OomCounter::find() {
  char buffer[4096];
  std::string_view const listing = read_file("/proc/self/cgroup", buffer);
  // A container usually sees its own cgroup as the root; a host or a v1 mount shows the whole path.
  struct Place {
    std::string_view root, path, file;
  };
  Place const places[] = {
      {"/sys/fs/cgroup", cgroup_path(listing, false), "/memory.events"},
      {"/sys/fs/cgroup", "", "/memory.events"},
      {"/sys/fs/cgroup/memory", cgroup_path(listing, true), "/memory.oom_control"},
      {"/sys/fs/cgroup/memory", "", "/memory.oom_control"},
  };
  for (Place const& place : places) {
    Text path(path_, sizeof path_ - 1);
    path << place.root << (place.path == "/" ? "" : place.path) << place.file;
    path_[path.view().size()] = '\0';
    if (read_counter(path_)) {
      return true;
    }
  }
  path_[0] = '\0';
  return false;
}

std::int64_t OomCounter::read() const {
  return path_[0] != '\0' ? read_counter(path_).value_or(before_) : before_;
}

std::int64_t OomCounter::kills_since_watch() const {
  std::int64_t const now = read();
  return now > before_ ? now - before_ : 0;
}

}  // namespace lastcall::shim
