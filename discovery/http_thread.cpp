#include "discovery/http_thread.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include <boost/asio/steady_timer.hpp>

namespace lastcall::discovery {

namespace {

/// The limit of a job that runs on the loop: enough for a server that answers, and too short to be
/// noticed.
constexpr Duration kOnLoop{200};

}  // namespace

/// The state that both threads see.
struct HttpThread::Shared {
  explicit Shared(HttpTls tls) : client(std::move(tls)) {}

  void begin(std::uint64_t job) {
    std::lock_guard const lock(mutex);
    running = job;
    client.resume();
  }
  void end() {
    std::lock_guard const lock(mutex);
    running = 0;
  }
  /// Interrupts that job only, since the next one may have begun meanwhile; with 0, the running
  /// one.
  void interrupt(std::uint64_t job) {
    std::lock_guard const lock(mutex);
    if (running != 0 && (job == 0 || job == running)) {
      client.interrupt();
    }
  }

  std::mutex mutex;
  std::uint64_t running = 0;  // 0: none
  HttpClient client;
};

/// The state that a thread that is left behind must not hold, because timers belong to the loop.
struct HttpThread::OnLoop {
  std::uint64_t last = 0;
  std::map<std::uint64_t, boost::asio::steady_timer> deadlines;
};

HttpThread::HttpThread(boost::asio::any_io_executor executor, std::string thread_name, HttpTls tls,
                       std::size_t stack_size)
    : executor_(executor),
      shared_(std::make_shared<Shared>(std::move(tls))),
      on_loop_(std::make_shared<OnLoop>()),
      thread_(std::move(executor), std::move(thread_name), stack_size) {}

HttpThread::~HttpThread() {
  interrupt();  // so that a thread that is left behind ends soon
}

void HttpThread::run(TimePoint deadline, Job job, std::function<void()> then) {
  auto const number = ++on_loop_->last;
  auto const timer = on_loop_->deadlines.try_emplace(number, executor_, deadline).first;
  timer->second.async_wait(
      [weak = std::weak_ptr(shared_), number](boost::system::error_code error) {
        auto const shared = weak.lock();
        if (!error && shared) {
          shared->interrupt(number);
        }
      });
  thread_.run(
      [shared = shared_, number, deadline, job = std::move(job),
       loop = std::this_thread::get_id()] {
        TimePoint const until =
            std::this_thread::get_id() != loop
                ? deadline
                : std::min<TimePoint>(deadline, TimePoint::clock::now() + kOnLoop);
        shared->begin(number);
        job(shared->client, until);
        shared->end();
      },
      [weak = std::weak_ptr(on_loop_), number, then = std::move(then)] {
        if (auto const on_loop = weak.lock()) {
          on_loop->deadlines.erase(number);
          then();
        }
      });
}

void HttpThread::interrupt() {
  shared_->interrupt(0);
}

}  // namespace lastcall::discovery
