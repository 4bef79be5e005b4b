#include "supervisor/runtime/host/oom_counter.hpp"

#include <array>
#include <charconv>
#include <utility>

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace lastcall::runtime {
namespace {

/// A peer that claims to be a shim can pass any file, such as a pipe that would block the
/// supervisor.
bool is_of_cgroup(int file) {
  struct statfs system {};
  return ::fstatfs(file, &system) == 0 &&
         (system.f_type == CGROUP2_SUPER_MAGIC || system.f_type == CGROUP_SUPER_MAGIC);
}

}  // namespace

std::optional<std::uint64_t> oom_kills_in(std::string_view text) {
  constexpr std::string_view kCounter = "oom_kill ";
  while (!text.starts_with(kCounter)) {
    std::size_t const newline = text.find('\n');
    if (newline == std::string_view::npos) {
      return std::nullopt;
    }
    text.remove_prefix(newline + 1);
  }
  text.remove_prefix(kCounter.size());
  std::uint64_t kills = 0;
  auto const parsed = std::from_chars(text.data(), text.data() + text.size(), kills);
  return parsed.ec == std::errc{} ? std::optional(kills) : std::nullopt;
}

void OomCounter::watch(Descriptor file) {
  file_ = file && is_of_cgroup(file.get()) ? std::move(file) : Descriptor();
  before_ = read().value_or(0);
}

bool OomCounter::has_struck() const {
  return read().value_or(before_) > before_;
}

std::optional<std::uint64_t> OomCounter::read() const {
  std::array<char, 1024> text{};
  ssize_t const size = file_ ? ::pread(file_.get(), text.data(), text.size(), 0) : -1;
  return size > 0 ? oom_kills_in({text.data(), static_cast<std::size_t>(size)}) : std::nullopt;
}

}  // namespace lastcall::runtime
