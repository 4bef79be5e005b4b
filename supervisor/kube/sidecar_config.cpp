#include "supervisor/kube/sidecar_config.hpp"

#include <optional>
#include <string_view>
#include <utility>

#include "config/load.hpp"
#include "supervisor/kube/memory_file.hpp"

namespace lastcall::kube {

/// The text is put into a file, because a configuration can only be loaded from a file.
config::Problems problems_of(inject::SidecarConfig const& sidecar, std::string const& source) {
  MemoryFile file;
  if (std::string const problem = file.put(sidecar.file); !problem.empty()) {
    config::Problem unread{.place = {}, .key = {}, .text = problem};
    unread.place.source = source;
    return {std::move(unread)};
  }
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
