// Reads workers from a directory of instance files, and watches it with inotify.
//
// Rules:
//  1. A file counts if its name ends in `.json` and does not begin with a dot, and if it contains
//     an object with an `advertise` (an http URL without a path) and perhaps a `model`. Other
//     content is reported once and skipped. So is a pipe, a device or a file that is too long; none
//     of them is waited for.
//  2. While the directory cannot be read, or a file for a lack of descriptors or memory, the last
//     known workers stay; this is reported, and reading is tried again every second. If the
//     directory never existed, there are no workers yet.
//  3. If another directory has its name, because a link or one of its parents was replaced, that
//     one is read within a second.
//
// Thread rule: the loop's thread. Source: inotify(7); discovery/instance_file.cpp.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "router/fleet.hpp"

namespace boost::asio {
class io_context;
}

namespace lastcall::router {

class WorkerFiles {
 public:
  struct Listeners {
    std::function<void(std::vector<Announced>)> found;
    /// Called at each failure; `problem` is empty if the directory can be read again.
    std::function<void(std::string const& problem)> troubled;
    std::function<void(std::string const& file, std::string const& problem)> skipped;
  };

  WorkerFiles(boost::asio::io_context& io, std::string directory, Listeners listeners);
  ~WorkerFiles();
  WorkerFiles(WorkerFiles const&) = delete;
  WorkerFiles& operator=(WorkerFiles const&) = delete;

  /// Reads the directory, and watches it from then on.
  void start();

 private:
  struct Watch;

  /// Reads the directory and awaits a change, or tries again later.
  void look();
  /// The error if the directory or one of its files cannot be read; no one else is notified then.
  std::error_code read();
  void failed(std::string const& problem);
  void await_change();
  /// Whether the events in the buffer, or the directory's name, show that the watch is of no more
  /// use.
  bool has_departed(std::size_t size) const;
  /// Whether these events may have changed what the files contain.
  bool has_changed(std::size_t size) const;
  void check_directory();
  void end_watch();
  void later(void (WorkerFiles::*next)());

  std::string const directory_;
  Listeners const listeners_;
  std::shared_ptr<Watch> const watch_;  // shared, so that a handler can hold it weakly
};

}  // namespace lastcall::router
