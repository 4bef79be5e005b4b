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

namespace lastcall {

class FollowedFiles {
 public:
  explicit FollowedFiles(std::vector<std::string> paths);

  /// The files are about to be read: changes from now on are noticed.
  void read_now();
  /// Whether the files are to be read again: they have changed since they were last read, or had a
  /// problem then. It looks at most once a second, and in between returns false.
  bool have_changed();
  /// Calls `read` if the files are to be read again: a problem may be gone without a change (a lack
  /// of descriptors, permissions). What `read` returns has a `problem`, empty if the files can be
  /// used; it is passed to `report` unless the same was reported of the same files.
  template <class Read, class Report>
  void follow(Read const& read, Report const& report) {
    if (have_changed()) {
      auto const reading = read();
      if (is_news(reading.problem)) {
        report(reading);
      }
    }
  }

 private:
  using Stamps = std::vector<std::array<std::int64_t, 5>>;

  bool is_news(std::string const& problem);
  Stamps stamps() const;

  std::vector<std::string> const paths_;
  Stamps read_;
  bool are_others_ = false;  // than at the reading before
  std::string problem_;
  Instant looked_at_{};
};

}  // namespace lastcall
