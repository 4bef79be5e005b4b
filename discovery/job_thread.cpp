#include "discovery/job_thread.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/thread.hpp"

namespace lastcall::discovery {

namespace {

constexpr std::chrono::milliseconds kStartAgain{100};

}  // namespace

struct JobThread::State : std::enable_shared_from_this<JobThread::State> {
  struct Job {
    std::function<void()> work;
    std::function<void()> then;
  };

  State(boost::asio::any_io_executor on, std::string name, std::size_t stack, Life life)
      : executor(std::move(on)),
        thread_name(std::move(name)),
        stack_size(stack),
        is_kept(life == Life::kept) {}

  /// False if no thread could be started.
  bool start_thread();
  void work_off();
  void finish(std::function<void()> then);

  boost::asio::any_io_executor executor;
  std::string const thread_name;
  std::size_t const stack_size;
  bool const is_kept;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job> jobs;
  bool thread_runs = false;
  bool abandoned = false;
};

bool JobThread::State::start_thread() {
  return start_detached_thread(thread_name, stack_size,
                               [self = shared_from_this()] { self->work_off(); });
}

void JobThread::State::work_off() {
  std::unique_lock lock(mutex);
  while (!abandoned && (is_kept || !jobs.empty())) {
    if (jobs.empty()) {
      changed.wait(lock);
      continue;
    }
    Job job = std::move(jobs.front());
    jobs.pop_front();
    lock.unlock();
    job.work();
    finish(std::move(job.then));
    lock.lock();
  }
  thread_runs = false;
}

/// Holds the lock so that the executor's context still exists: its owner destroys the thread first,
/// and that waits for the lock.
void JobThread::State::finish(std::function<void()> then) {
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

JobThread::JobThread(boost::asio::any_io_executor executor, std::string thread_name,
                     std::size_t stack_size, Life life)
    : state_(std::make_shared<State>(executor, std::move(thread_name), stack_size, life)),
      again_(std::move(executor)) {}

JobThread::~JobThread() {
  std::lock_guard const lock(state_->mutex);
  state_->abandoned = true;
  state_->jobs.clear();
  state_->changed.notify_all();
}

void JobThread::run(std::function<void()> job, std::function<void()> then) {
  std::unique_lock lock(state_->mutex);
  state_->jobs.push_back({std::move(job), std::move(then)});
  if (std::exchange(state_->thread_runs, true)) {
    state_->changed.notify_all();
  } else if (!state_->start_thread()) {
    if (state_->is_kept) {
      return start_later();
    }
    lock.unlock();
    state_->work_off();  // blocks this thread, but the work is done
  }
}

/// Jobs that come meanwhile find that a thread is to be expected.
void JobThread::start_later() {
  again_.expires_after(kStartAgain);
  again_.async_wait([this, weak = std::weak_ptr(state_)](boost::system::error_code error) {
    auto const state = weak.lock();
    bool const is_over = error || !state || state->abandoned;  // only this thread writes it
    if (!is_over && !state->start_thread()) {
      start_later();
    }
  });
}

}  // namespace lastcall::discovery
