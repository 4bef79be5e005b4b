#include "supervisor/kube/sidecar_config.hpp"

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include "config/load.hpp"

namespace lastcall::kube {
namespace {

/// A text as a file, so that it is judged by the one way that leads to a configuration.
class TextFile {
 public:
  explicit TextFile(std::string const& text)
      : fd_(::memfd_create("lastcall.yaml", MFD_CLOEXEC)),
        path_("/proc/self/fd/" + std::to_string(fd_)) {
    for (std::size_t at = 0; fd_ >= 0 && at < text.size();) {
      ssize_t const count = ::write(fd_, text.data() + at, text.size() - at);
      if (count <= 0) {
        break;
      }
      at += static_cast<std::size_t>(count);
    }
  }
  ~TextFile() { ::close(fd_); }
  TextFile(TextFile const&) = delete;
  TextFile& operator=(TextFile const&) = delete;

  std::string const& path() const { return path_; }

 private:
  int fd_;
  std::string path_;
};

}  // namespace

config::Problems problems_of(inject::SidecarConfig const& sidecar, std::string const& source) {
  TextFile const file(sidecar.file);
  config::LoadOptions options;
  options.path = file.path();
  options.overrides = sidecar.overrides;
  config::Loaded loaded =
      config::load(options, [&](std::string_view name) -> std::optional<std::string> {
        return name == "LASTCALL_POD_GRACE_SECONDS"
                   ? std::optional(std::to_string(sidecar.pod_grace))
                   : std::nullopt;
      });
  for (config::Problem& problem : loaded.errors) {
    if (problem.place.source == file.path()) {
      problem.place.source = source;
    }
  }
  return std::move(loaded.errors);
}

}  // namespace lastcall::kube
