#include "discovery/job_thread.hpp"

#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>

#include <boost/asio/post.hpp>

#include "tests/unit/discovery/loop.hpp"

namespace lastcall::discovery::test {
namespace {

/// By name: a sanitizer has threads of its own.
std::size_t count_threads(std::string const& name) {
  std::size_t count = 0;
  for (auto const& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string comm;
    std::getline(std::ifstream(task.path() / "comm"), comm);
    count += comm == name ? 1 : 0;
  }
  return count;
}

class WorkerThread : public LoopTest {};

TEST_F(WorkerThread, Works_in_order_off_the_loop_and_reports_on_it) {
  JobThread thread(io_.get_executor(), "test");
  auto const loop = std::this_thread::get_id();
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) {
    thread.run(
        [&, i] {
          EXPECT_NE(std::this_thread::get_id(), loop);
          order.push_back(i);
        },
        [&, i] {
          EXPECT_EQ(std::this_thread::get_id(), loop);
          order.push_back(100 + i);
        });
  }
  std::size_t const both = 10;
  // The list is read here only when the jobs, which write it too, are over.
  std::promise<void> over;
  thread.run([&] { over.set_value(); }, [] {});
  over.get_future().wait();
  EXPECT_TRUE(run_until([&] { return order.size() == both; }));
  EXPECT_EQ(std::vector<int>(order.begin(), order.begin() + 5), (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST_F(WorkerThread, Is_there_only_while_there_is_work) {
  JobThread thread(io_.get_executor(), "now_and_then");
  EXPECT_EQ(count_threads("now_and_then"), 0U);
  bool done = false;
  std::promise<void> seen;
  thread.run([&] { seen.get_future().wait(); }, [&] { done = true; });
  EXPECT_TRUE(run_until([&] {
    boost::asio::post(io_, [] {});
    return count_threads("now_and_then") == 1;
  }));
  seen.set_value();
  EXPECT_TRUE(run_until([&] { return done; }));
  EXPECT_TRUE(run_until([&] {
    boost::asio::post(io_, [] {});
    return count_threads("now_and_then") == 0;
  }));
  done = false;
  thread.run([] {}, [&] { done = true; });  // and comes back
  EXPECT_TRUE(run_until([&] { return done; }));
}

TEST_F(WorkerThread, That_is_kept_waits_for_later_jobs_and_ends_with_its_worker) {
  {
    JobThread thread(io_.get_executor(), "kept", kSmallStack, JobThread::Life::kept);
    EXPECT_EQ(count_threads("kept"), 0U);
    for (int i = 0; i < 2; ++i) {
      bool done = false;
      thread.run([] {}, [&] { done = true; });
      EXPECT_TRUE(run_until([&] { return done; }));
      EXPECT_EQ(count_threads("kept"), 1U);
    }
  }
  EXPECT_TRUE(run_until([&] {
    boost::asio::post(io_, [] {});
    return count_threads("kept") == 0;
  }));
}

TEST_F(WorkerThread, That_cannot_be_started_leaves_its_jobs_to_the_loop_unless_it_is_kept) {
  constexpr std::size_t kNoSuchStack = std::size_t{1} << 50U;
  JobThread brief(io_.get_executor(), "brief", kNoSuchStack);
  bool done = false;
  brief.run([] {}, [&] { done = true; });
  EXPECT_TRUE(run_until([&] { return done; }));
  JobThread kept(io_.get_executor(), "kept", kNoSuchStack, JobThread::Life::kept);
  kept.run([] { ADD_FAILURE() << "a job that may hang on the loop"; }, [] {});
  run_for(Duration{250});
}

TEST_F(WorkerThread, A_job_that_hangs_does_not_hold_up_the_end) {
  auto const release = std::make_shared<std::promise<void>>();
  auto const gone = std::make_shared<std::promise<void>>();
  std::promise<void> begun;
  bool reported = false;
  {
    JobThread thread(io_.get_executor(), "test");
    thread.run(
        [release, gone, &begun] {
          begun.set_value();
          release->get_future().wait();
          gone->set_value();
        },
        [&] { reported = true; });
    begun.get_future().wait();
    thread.run([] { ADD_FAILURE() << "a job that had not begun"; }, [] {});
  }
  release->set_value();
  gone->get_future().wait();
  run_for(Duration{50});
  EXPECT_FALSE(reported);
}

}  // namespace
}  // namespace lastcall::discovery::test
