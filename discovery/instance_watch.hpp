// Follows the instances in a registry, for a program that sends requests to them.
//
// Invariants:
//  1. The last known instances stay until a complete list replaces them: a registry that cannot be
//     reached removes no instance. Each failure is reported, and once that they have ended.
//  2. After a failure the registry is listed again, after waits that grow from kFirstWait to
//     kLongestWait; the waits between watches that end soon after they began grow in the same way.
//  3. Listeners are called on the loop, after start() has returned; one call may cover several
//     changes.
//  4. Destroying it never waits, and no listener is called afterwards.
//
// Thread rule: the loop's thread; a source is asked on the thread of its jobs, one job at a time.
// Source: docs/router.md, 'Workers'; http_thread.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "discovery/http_client.hpp"
#include "discovery/http_thread.hpp"

namespace lastcall::discovery {

/// The data of one instance in a registry.
struct FoundInstance {
  std::string url;        // "http://10.0.0.7:8080"
  std::string model;      // empty: not given
  std::string problem{};  // not empty: the entry cannot be read, and `url` is its key
  friend bool operator==(FoundInstance const&, FoundInstance const&) = default;
};

/// Reads a registry, one blocking step after the other.
class InstanceSource {
 public:
  enum class Ended : std::uint8_t {
    in_time,  // its time is over: follow again
    stale,    // it cannot be followed from here, which is normal: list again
    broken,   // `error` has the reason
  };
  struct Followed {
    Ended how = Ended::in_time;
    std::string error;
  };

  InstanceSource() = default;
  virtual ~InstanceSource() = default;
  InstanceSource(InstanceSource const&) = delete;
  InstanceSource& operator=(InstanceSource const&) = delete;

  /// Reads all instances again. Returns why it failed, or an empty text.
  virtual std::string list(HttpClient& client, TimePoint deadline) = 0;
  /// Follows the changes from there on, and calls `changed` after each.
  virtual Followed follow(HttpClient& client, TimePoint deadline,
                          std::function<void()> const& changed) = 0;
  virtual std::vector<FoundInstance> found() const = 0;
};

class InstanceWatch {
 public:
  static constexpr std::chrono::milliseconds kFirstWait{100};
  static constexpr std::chrono::milliseconds kLongestWait{10'000};

  struct Listeners {
    std::function<void(std::vector<FoundInstance>)> found;
    /// Called at each failure; `problem` is empty when the registry can be followed again.
    std::function<void(std::string const& problem)> troubled;
  };

  InstanceWatch(boost::asio::any_io_executor const& executor, std::string const& thread_name,
                HttpTls tls, std::unique_ptr<InstanceSource> source, Listeners listeners);
  ~InstanceWatch();
  InstanceWatch(InstanceWatch const&) = delete;
  InstanceWatch& operator=(InstanceWatch const&) = delete;

  void start() { list(); }

 private:
  struct Shared;
  struct Timer;

  void list();
  void follow();
  void ended(InstanceSource::Followed const& followed, TimePoint began);
  void fail(std::string const& problem);
  void later(void (InstanceWatch::*next)());

  Listeners const listeners_;
  std::shared_ptr<Shared> shared_;  // shared with jobs, which may outlive this
  std::unique_ptr<Timer> timer_;
  HttpThread thread_;
  std::chrono::milliseconds wait_ = kFirstWait;
  bool is_troubled_ = false;
};

}  // namespace lastcall::discovery
