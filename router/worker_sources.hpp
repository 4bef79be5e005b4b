// The sources of workers; all sources of the configuration are watched at the same time.
//
// Rules:
//  1. A source has a number that is never used again; the fleet combines all sources.
//  2. follow() may be called again after the configuration was read again: unchanged sources
//     continue, and the workers of removed ones leave. If registries are added at the same time,
//     they stay until each of these has been listed: a changed source is a removed and an added
//     one, and its workers are known all the while.
//  3. A worker's URL has only scheme, host and port. Other URLs of a registry are reported once and
//     skipped, because requests keep their path.
//  4. A source that cannot be read keeps its last known workers; the problem is reported.
//
// Thread rule: the loop's thread. Source: docs/router.md, 'Workers'.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
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
    /// Receives all workers of that source, in place of the earlier ones.
    std::function<void(std::size_t number, std::string const& source,
                       std::vector<Announced> const& workers)>
        found;
    /// `problem` is empty if the source can be read again.
    /// Several sources may have the same name.
    std::function<void(std::size_t number, std::string const& source, std::string const& problem)>
        troubled;
    /// A file or URL does not name a worker.
    std::function<void(std::string const& what, std::string const& problem)> skipped;
  };

  WorkerSources(boost::asio::io_context& io, Listeners listeners);
  ~WorkerSources();

  void follow(std::vector<Source> const& sources);

 private:
  struct Followed;
  struct Removed {
    std::size_t number = 0;
    std::string name;
    std::set<std::size_t> awaited;  // numbers of registries; its workers stay until all are listed
  };

  std::unique_ptr<Followed> begin(Source const& source);
  void remove(Followed& followed, std::set<std::size_t> const& added);
  void listed(std::size_t number);
  void release();
  void begin_static(Followed& followed, StaticSource const& source);
  void begin_files(Followed& followed, FileSource const& source);
  void begin_etcd(Followed& followed, EtcdSource const& source);
  void begin_kubernetes(Followed& followed, KubernetesSource const& source);

  boost::asio::io_context& io_;
  Listeners const listeners_;
  std::vector<std::unique_ptr<Followed>> followed_;
  std::vector<Removed> removed_;  // those whose workers are still known
  std::size_t last_number_ = 0;
};

/// The reason why requests cannot be sent to that URL; empty if they can.
std::string problem_of_worker(std::string const& url);

}  // namespace lastcall::router
