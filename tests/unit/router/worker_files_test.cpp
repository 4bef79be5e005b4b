// Directories of instance files on a real loop.
#include "router/worker_files.hpp"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

namespace lastcall::router {
namespace {

namespace fs = std::filesystem;

TEST(WorkerFilesTest, A_source_that_is_removed_in_the_turn_in_which_its_timer_fires_does_nothing) {
  std::string parent = (fs::temp_directory_path() / "lastcall-worker-files-XXXXXX").string();
  ASSERT_NE(::mkdtemp(parent.data()), nullptr);
  std::string const directory = parent + "/instances";  // not there yet: a timer looks again
  boost::asio::io_context io;
  int found = 0;
  std::vector<std::unique_ptr<WorkerFiles>> sources(20);
  for (std::unique_ptr<WorkerFiles>& source : sources) {
    WorkerFiles::Listeners const listeners{
        .found =
            [&](std::vector<Announced> const& /*all*/) {
              ++found;
              for (std::unique_ptr<WorkerFiles>& other : sources) {
                if (&other != &source) {
                  other.reset();
                }
              }
              io.stop();
            },
        .troubled = [](std::string const& problem) { FAIL() << problem; },
        .skipped = [](std::string const& /*file*/, std::string const& /*problem*/) {}};
    source = std::make_unique<WorkerFiles>(io, directory, listeners);
  }
  for (std::unique_ptr<WorkerFiles> const& source : sources) {
    source->start();
  }
  fs::create_directory(directory);
  io.run();
  io.restart();
  io.poll();  // what had fired in the same turn
  EXPECT_EQ(found, 1);
  fs::remove_all(parent);
}

}  // namespace
}  // namespace lastcall::router
