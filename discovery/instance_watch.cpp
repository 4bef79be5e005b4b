#include "discovery/instance_watch.hpp"

#include <algorithm>
#include <mutex>
#include <random>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace lastcall::discovery {
namespace {

constexpr std::chrono::seconds kListing{10};
/// The time after which a watch ends, in case its connection is silently dead.
constexpr std::chrono::seconds kFollowing{20};
/// A watch that worked for this long did not fail at its start.
constexpr std::chrono::seconds kWorked{5};

}  // namespace

struct InstanceWatch::Shared {
  explicit Shared(std::unique_ptr<InstanceSource> from) : source(std::move(from)) {}

  /// Runs on the job's thread. It holds the lock so that the loop still exists: the loop's owner
  /// destroys the watch first, and that waits for the lock.
  void publish(std::shared_ptr<Shared> const& self) {
    auto all = source->found();
    std::lock_guard const lock(mutex);
    latest = std::move(all);
    if (notify && !std::exchange(is_posted, true)) {
      boost::asio::post(executor, [self] { self->deliver(); });
    }
  }

  /// Runs on the loop.
  void deliver() {
    std::unique_lock lock(mutex);
    is_posted = false;
    if (notify) {
      auto all = std::move(latest);
      latest.clear();
      lock.unlock();
      notify(std::move(all));  // safe without the lock: only this thread changes `notify`
    }
  }

  std::unique_ptr<InstanceSource> const source;  // only the running job uses it
  boost::asio::any_io_executor executor;
  std::mutex mutex;
  std::function<void(std::vector<FoundInstance>)> notify;  // empty: there is no listener any more
  std::vector<FoundInstance> latest;
  bool is_posted = false;
};

struct InstanceWatch::Timer {
  explicit Timer(boost::asio::any_io_executor const& executor) : timer(executor) {}
  boost::asio::steady_timer timer;
  std::minstd_rand random{std::random_device{}()};
};

InstanceWatch::InstanceWatch(boost::asio::any_io_executor const& executor,
                             std::string const& thread_name, HttpTls tls,
                             std::unique_ptr<InstanceSource> source, Listeners listeners)
    : listeners_(std::move(listeners)),
      shared_(std::make_shared<Shared>(std::move(source))),
      timer_(std::make_unique<Timer>(executor)),
      thread_(executor, thread_name, std::move(tls)) {
  shared_->executor = executor;
  shared_->notify = listeners_.found;
}

InstanceWatch::~InstanceWatch() {
  std::lock_guard const lock(shared_->mutex);
  shared_->notify = nullptr;
}

void InstanceWatch::list() {
  auto const problem = std::make_shared<std::string>();
  thread_.run(
      TimePoint::clock::now() + kListing,
      [shared = shared_, problem](HttpClient& client, TimePoint deadline) {
        *problem = shared->source->list(client, deadline);
        if (problem->empty()) {
          shared->publish(shared);
        }
      },
      [this, problem] {
        if (!problem->empty()) {
          fail(*problem);
          return;
        }
        if (std::exchange(is_troubled_, false)) {
          listeners_.troubled("");
        }
        follow();
      });
}

void InstanceWatch::follow() {
  auto const began = TimePoint::clock::now();
  auto const followed = std::make_shared<InstanceSource::Followed>();
  thread_.run(
      began + kFollowing,
      [shared = shared_, followed](HttpClient& client, TimePoint deadline) {
        *followed =
            shared->source->follow(client, deadline, [&shared] { shared->publish(shared); });
      },
      [this, followed, began] { ended(*followed, began); });
}

void InstanceWatch::ended(InstanceSource::Followed const& followed, TimePoint began) {
  using Ended = InstanceSource::Ended;
  auto const took = TimePoint::clock::now() - began;
  if (took > kWorked) {
    wait_ = kFirstWait;
  }
  if (followed.how == Ended::broken) {
    fail(followed.error);
    return;
  }
  auto const next = followed.how == Ended::stale ? &InstanceWatch::list : &InstanceWatch::follow;
  if (took > kWorked) {
    (this->*next)();
  } else {
    later(next);  // a pause, in case the server ends each watch at once
  }
}

void InstanceWatch::fail(std::string const& problem) {
  is_troubled_ = true;
  listeners_.troubled(problem);
  later(&InstanceWatch::list);
}

void InstanceWatch::later(void (InstanceWatch::*next)()) {
  // Routers that lose a registry together should not come back to it together.
  std::uniform_int_distribution<std::int64_t> share(wait_.count() / 2, wait_.count());
  timer_->timer.expires_after(std::chrono::milliseconds(share(timer_->random)));
  wait_ = std::min(2 * wait_, kLongestWait);
  timer_->timer.async_wait([this, next](boost::system::error_code const& error) {
    if (!error) {
      (this->*next)();
    }
  });
}

}  // namespace lastcall::discovery
