// Workers out of a directory of instance files, followed with inotify.
//
// Rules:
//  1. A file counts that ends in `.json`, does not begin with a dot, and holds an object with an
//     `advertise` (a URL of http without a path) and maybe a `model`. One that does not is reported
//     once, and skipped; so is a pipe, a device or a file that is too long, and none is waited for.
//  2. While the directory cannot be read, what it held last stays, and that is reported; it is
//     looked for again every second. Where it never existed, there are no workers yet.
//
// Thread rule: the loop's thread. Source: inotify(7); discovery/instance_file.cpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
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
    /// Empty: it can be read again.
    std::function<void(std::string const& problem)> troubled;
    std::function<void(std::string const& file, std::string const& problem)> skipped;
  };

  WorkerFiles(boost::asio::io_context& io, std::string directory, Listeners listeners);
  ~WorkerFiles();
  WorkerFiles(WorkerFiles const&) = delete;
  WorkerFiles& operator=(WorkerFiles const&) = delete;

  /// Reads it, and follows it from then on.
  void start();

 private:
  struct Watch;

  void look();
  void await_change();
  void look_again_later();

  std::string const directory_;
  Listeners const listeners_;
  std::unique_ptr<Watch> watch_;
};

}  // namespace lastcall::router
