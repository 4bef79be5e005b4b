#include "discovery/worker.hpp"

#include <cstddef>
#include <deque>
#include <mutex>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/thread.hpp"

namespace lastcall::discovery {

struct Worker::State : std::enable_shared_from_this<Worker::State> {
  struct Job {
    std::function<void()> work;
    std::function<void()> then;
  };

  State(boost::asio::any_io_executor on, std::string name, std::size_t stack)
      : executor(std::move(on)), thread_name(std::move(name)), stack_size(stack) {}

  /// False if no thread could be started; then the caller's thread does the work.
  bool start_thread();
  void work_off();
  void finish(std::function<void()> then);

  boost::asio::any_io_executor executor;
  std::string const thread_name;
  std::size_t const stack_size;
  std::mutex mutex;
  std::deque<Job> jobs;
  bool thread_runs = false;
  bool abandoned = false;
};

bool Worker::State::start_thread() {
  return start_detached_thread(thread_name, stack_size,
                               [self = shared_from_this()] { self->work_off(); });
}

void Worker::State::work_off() {
  std::unique_lock lock(mutex);
  while (!jobs.empty() && !abandoned) {
    Job job = std::move(jobs.front());
    jobs.pop_front();
    lock.unlock();
    job.work();
    finish(std::move(job.then));
    lock.lock();
  }
  thread_runs = false;
}

/// Holds the lock so that the executor's context still exists: its owner destroys the worker first,
/// and that waits for the lock.
void Worker::State::finish(std::function<void()> then) {
  std::lock_guard const lock(mutex);
  if (abandoned) {
    return;
  }
  boost::asio::post(executor, [self = shared_from_this(), then = std::move(then)] {
    if (!self->abandoned) {  // safe without the lock: only this thread writes it
      then();
    }
  });
}

Worker::Worker(boost::asio::any_io_executor executor, std::string thread_name,
               std::size_t stack_size)
    : state_(std::make_shared<State>(std::move(executor), std::move(thread_name), stack_size)) {}

Worker::~Worker() {
  std::lock_guard const lock(state_->mutex);
  state_->abandoned = true;
  state_->jobs.clear();
}

void Worker::run(std::function<void()> job, std::function<void()> then) {
  std::unique_lock lock(state_->mutex);
  state_->jobs.push_back({std::move(job), std::move(then)});
  if (!std::exchange(state_->thread_runs, true) && !state_->start_thread()) {
    lock.unlock();
    state_->work_off();  // blocks this thread, but the work is done
  }
}

}  // namespace lastcall::discovery
