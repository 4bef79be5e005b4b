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
  /// Whether the files have changed since they were last read, or had a problem then, which may be
  /// gone without a change (a lack of descriptors, permissions). Looks at most once a second.
  bool have_changed();
  /// Called after files that had changed were read; `problem` is empty if they can be used. Returns
  /// false if the same was known of the same files.
  bool is_news(std::string const& problem);

 private:
  using Stamps = std::vector<std::array<std::int64_t, 5>>;

  Stamps stamps() const;

  std::vector<std::string> const paths_;
  Stamps read_;
  bool are_others_ = false;  // than at the reading before
  std::string problem_;
  Instant looked_at_{};
};

}  // namespace lastcall::ingress
