// Files that are read again once they have changed, such as a certificate's.
//
// Symbolic links are followed, so a link that a Kubernetes volume switches counts as another file.
// An empty path is no file.
//
// Thread rule: one owner. Source: stat(2).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/instant.hpp"

namespace lastcall::ingress {

class FollowedFiles {
 public:
  explicit FollowedFiles(std::vector<std::string> paths);

  /// The files are about to be read: changes from now on are noticed.
  void read_now();
  /// Whether the files have changed since they were last read. Looks at most once a second.
  bool have_changed();

 private:
  using Stamps = std::vector<std::array<std::int64_t, 5>>;

  Stamps stamps() const;

  std::vector<std::string> const paths_;
  Stamps read_;
  Instant looked_at_{};
};

}  // namespace lastcall::ingress
