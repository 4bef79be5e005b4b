#include "supervisor/runtime/cleanup/cleanup_paths.hpp"

#include <cerrno>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/error_text.hpp"
#include "base/words.hpp"
#include "config/cleanup_rule.hpp"

namespace lastcall::runtime {
namespace {

/// A deeper tree is a loop of mounts or a mistake.
constexpr int kDeepest = 64;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

Directory open_directory(int parent, std::string const& name) {
  int const fd =
      ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return nullptr;
  }
  Directory directory(::fdopendir(fd));
  if (!directory) {
    ::close(fd);
  }
  return directory;
}

std::vector<std::string> entries_of(DIR* directory) {
  std::vector<std::string> names;
  while (dirent const* entry = ::readdir(directory)) {
    std::string_view const name = entry->d_name;
    if (name != "." && name != "..") {
      names.emplace_back(name);
    }
  }
  return names;
}

bool has_wildcard(std::string_view part) {
  return part.find_first_of("*?[") != std::string_view::npos;
}

class Remover {
 public:
  Remover(std::vector<std::string> const& kept, lifecycle::Instant deadline) : deadline_(deadline) {
    for (std::string const& path : kept) {
      struct stat status {};
      if (!path.empty() && ::lstat(path.c_str(), &status) == 0) {
        kept_.insert({status.st_dev, status.st_ino});
      }
    }
  }

  void remove_matching(std::string const& pattern) {
    std::vector<std::string_view> const words = split(pattern, "/");
    std::vector<std::string> const parts(words.begin(), words.end());
    descend(enter(AT_FDCWD, "/", false), parts, 0);
  }

  ItemResult result() const {
    std::string detail = "removed " + std::to_string(removed_);
    if (is_late_) {
      return {lifecycle::ItemOutcome::timed_out, detail + ", not all before the deadline"};
    }
    if (failed_ > 0) {
      return {lifecycle::ItemOutcome::failed,
              detail + ", " + std::to_string(failed_) + " could not be removed: " + first_problem_};
    }
    return {lifecycle::ItemOutcome::completed, std::move(detail)};
  }

 private:
  bool is_late() {
    is_late_ = is_late_ || monotonic_now() >= deadline_;
    return is_late_;
  }

  void descend(Directory directory, std::vector<std::string> const& parts, std::size_t depth) {
    if (!directory || is_late()) {
      return;
    }
    std::string const& part = parts[depth];
    bool const is_pattern = has_wildcard(part);
    std::vector<std::string> const names =
        is_pattern ? entries_of(directory.get()) : std::vector<std::string>{part};
    int const fd = ::dirfd(directory.get());
    for (std::string const& name : names) {
      if (::fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) != 0 && name != part) {
        continue;
      }
      if (depth + 1 < parts.size()) {
        descend(enter(fd, name, is_pattern), parts, depth + 1);
        continue;
      }
      struct stat here {};
      if (::fstat(fd, &here) == 0) {
        remove(fd, name, here.st_dev, 0);
      }
    }
  }

  /// Returns false if something that must be kept is at this path or below it.
  bool remove(int parent, std::string const& name, dev_t device, int depth) {
    struct stat status {};
    if (is_late() || ::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return true;
    }
    if (kept_.contains({status.st_dev, status.st_ino})) {
      return false;
    }
    bool is_free = true;
    bool const is_directory = S_ISDIR(status.st_mode);
    if (is_directory && status.st_dev == device && depth < kDeepest) {
      if (Directory const directory = open_directory(parent, name)) {
        for (std::string const& child : entries_of(directory.get())) {
          is_free = remove(::dirfd(directory.get()), child, device, depth + 1) && is_free;
        }
      }
    }
    if (is_late_ || !is_free) {
      return is_free;
    }
    if (::unlinkat(parent, name.c_str(), is_directory ? AT_REMOVEDIR : 0) == 0) {
      ++removed_;
    } else if (errno != ENOENT) {
      note_problem(name, errno);
    }
    return true;
  }

  /// If nothing has that name, there is nothing to remove; any other error means that it is unknown
  /// what is there, and is noted. A pattern may match directories that belong to others.
  Directory enter(int fd, std::string const& name, bool is_pattern) {
    Directory directory = open_directory(fd, name);
    if (int const error = errno; !directory) {
      bool const is_nothing = error == ENOENT || error == ENOTDIR || error == ELOOP;
      if (!is_nothing && !(is_pattern && error == EACCES)) {
        note_problem(name, error);
      }
    }
    return directory;
  }

  void note_problem(std::string const& name, int error) {
    if (failed_++ == 0) {
      first_problem_ = name + ": " + error_text(error);
    }
  }

  lifecycle::Instant deadline_;
  std::set<std::pair<dev_t, ino_t>> kept_;
  std::uint64_t removed_ = 0;
  std::uint64_t failed_ = 0;
  std::string first_problem_;
  bool is_late_ = false;
};

}  // namespace

ItemResult remove_paths(std::vector<std::string> const& patterns,
                        std::vector<std::string> const& kept, lifecycle::Instant deadline) {
  Remover remover(kept, deadline);
  std::string refused;
  for (std::string const& pattern : patterns) {
    std::string const why = config::refuse_cleanup_path(pattern);
    if (why.empty()) {
      remover.remove_matching(pattern);
    } else {
      refused += "; refused " + pattern + ": " + why;
    }
  }
  ItemResult result = remover.result();
  if (!refused.empty()) {
    result.outcome = lifecycle::ItemOutcome::failed;
    result.detail += refused;
  }
  return result;
}

}  // namespace lastcall::runtime
