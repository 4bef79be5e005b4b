#include "base/followed_files.hpp"

#include <utility>

#include <sys/stat.h>

#include "base/clock.hpp"

namespace lastcall {
namespace {

constexpr Duration kBetweenLooks{1'000};

}  // namespace

FollowedFiles::FollowedFiles(std::vector<std::string> paths) : paths_(std::move(paths)) {}

void FollowedFiles::read_now() {
  Stamps found = stamps();
  are_others_ = found != read_;
  read_ = std::move(found);
  looked_at_ = monotonic_now();
}

bool FollowedFiles::have_changed() {
  Instant const now = monotonic_now();
  if (now - looked_at_ < kBetweenLooks) {
    return false;
  }
  looked_at_ = now;
  return !problem_.empty() || stamps() != read_;
}

bool FollowedFiles::is_news(std::string const& problem) {
  bool const is_known = !problem.empty() && problem == problem_ && !are_others_;
  problem_ = problem;
  return !is_known;
}

FollowedFiles::Stamps FollowedFiles::stamps() const {
  Stamps all;
  for (std::string const& path : paths_) {
    struct stat found {};
    if (path.empty() || ::stat(path.c_str(), &found) != 0) {
      all.push_back({});
    } else {
      all.push_back({static_cast<std::int64_t>(found.st_dev),
                     static_cast<std::int64_t>(found.st_ino), found.st_size, found.st_mtim.tv_sec,
                     found.st_mtim.tv_nsec});
    }
  }
  return all;
}

}  // namespace lastcall
