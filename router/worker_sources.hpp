// Where workers are found: every source of the configuration, followed at once.
//
// Rules:
//  1. A source is known by a number that is never used again; the fleet adds them up.
//  2. follow() may be called again, with the sources of a configuration that was read again: those
//     that are the same go on untouched, the workers of those that are gone leave.
//  3. A worker's URL has scheme, host and port alone. One that a registry names otherwise is
//     reported once, and skipped: requests keep the path that they came with.
//  4. A source that cannot be read leaves its workers as they were known last, which is reported.
//
// Thread rule: the loop's thread. Source: docs/router.md, 'Workers'.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "router/fleet.hpp"
#include "router/settings.hpp"

namespace boost::asio {
class io_context;
}

namespace lastcall::router {

class WorkerSources {
 public:
  struct Listeners {
    /// All workers of that source from now on.
    std::function<void(std::size_t number, std::vector<Announced> const& workers)> found;
    /// Empty: the source can be read again.
    std::function<void(std::string const& source, std::string const& problem)> troubled;
    /// A file or URL that names no worker.
    std::function<void(std::string const& what, std::string const& problem)> skipped;
  };

  WorkerSources(boost::asio::io_context& io, Listeners listeners);
  ~WorkerSources();

  void follow(std::vector<Source> const& sources);

 private:
  struct Followed;

  std::unique_ptr<Followed> begin(Source const& source);
  void begin_static(Followed& followed, StaticSource const& source);
  void begin_files(Followed& followed, FileSource const& source);
  void begin_etcd(Followed& followed, EtcdSource const& source);
  void begin_kubernetes(Followed& followed, KubernetesSource const& source);

  boost::asio::io_context& io_;
  Listeners const listeners_;
  std::vector<std::unique_ptr<Followed>> followed_;
  std::size_t last_number_ = 0;
};

/// Why requests cannot be sent there; empty: they can.
std::string problem_of_worker(std::string const& url);

}  // namespace lastcall::router
