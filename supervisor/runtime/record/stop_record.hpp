// `stop.json`: what must be remembered while no shim is connected to hold it.
//
// Rules:
//  1. It appears completely or not at all: a temporary file, flushed, renamed into place, and the
//     directory flushed.
//  2. It is in a place that no engine can reach; nevertheless only a regular file is read or
//     written: no link is followed, and nothing that would block, such as a FIFO, is opened to
//     wait.
//  3. It is valid only in the same boot of the machine and the same pod, until the deadline in its
//     blob; any other one is removed when it is read.
//
// Thread rule: the loop's thread; the files are small and on a local disk.
// Source: open(2), rename(2), fsync(2), random(4) (boot_id).
#pragma once

#include <optional>
#include <string>

#include "core/instant.hpp"

namespace lastcall::runtime {

class StopRecord {
 public:
  struct Identity {
    std::string boot_id;
    std::string pod_uid;  // empty outside a pod
  };
  /// From /proc/sys/kernel/random/boot_id and LASTCALL_POD_UID.
  static Identity identity_of_this_life();

  /// In the directory of the admin socket, which is the supervisor's own.
  StopRecord(std::string const& admin_socket, Identity identity);

  /// The blob of an earlier life that is still valid at `now`. An invalid one is removed; `note`
  /// then has the reason.
  std::optional<std::string> read(lifecycle::Instant now, std::string& note) const;
  /// Empty if done, else the reason.
  std::string write(std::string const& blob) const;
  void remove() const;

  std::string const& path() const { return path_; }

 private:
  std::string directory_;
  std::string path_;
  Identity identity_;
};

}  // namespace lastcall::runtime
