// `stop.json`: the state that must be remembered while no shim is connected to hold it.
//
// Rules:
//  1. The file appears completely or not at all: a temporary file is written, flushed and renamed
//     into place, and then the directory is flushed.
//  2. It is in a directory that no engine can reach. Nevertheless only a regular file is read or
//     written: no link is followed, and opening a file that could block, such as a FIFO, does not
//     wait.
//  3. It is valid only during the same boot of the machine, in the same pod, and until the deadline
//     in its blob; an invalid record is removed when it is read. One that cannot be read now, for
//     example for want of a descriptor, is kept: a later start may continue its stop.
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
  /// Reads /proc/sys/kernel/random/boot_id and LASTCALL_POD_UID.
  static Identity identity_of_this_life();

  /// The record is in the directory of the admin socket, which belongs to the supervisor alone.
  StopRecord(std::string const& admin_socket, Identity identity);

  /// The blob of an earlier life that is still valid at `now`; absent if there is none. `note` is
  /// set to the reason why a record does not apply, and is removed, or cannot be read.
  std::optional<std::string> read(lifecycle::Instant now, std::string& note) const;
  /// Returns an empty text, or the reason why it could not be written.
  std::string write(std::string const& blob) const;
  void remove() const;

  std::string const& path() const { return path_; }

 private:
  std::string path_;
  Identity identity_;
};

}  // namespace lastcall::runtime
