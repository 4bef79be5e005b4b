#include "supervisor/runtime/serve.hpp"

#include <boost/asio/io_context.hpp>
#include <malloc.h>
#include <unistd.h>

#include "supervisor/runtime/log.hpp"
#include "supervisor/runtime/supervisor.hpp"

namespace lastcall::runtime {
namespace {

constexpr int kExitCannotRun = 1;
constexpr int kExitBadConfig = 2;

/// Two threads do little: one arena is enough, and what is freed goes back.
void keep_memory_small() {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_TRIM_THRESHOLD, 64 * 1024);
}

}  // namespace

int serve(config::Config const& config, ServeOptions const& options) {
  keep_memory_small();
  Log log(config.log.level, config.log.format, STDERR_FILENO);
  boost::asio::io_context io(1);
  Supervisor supervisor(io, config, options, log);
  if (std::string const problem = supervisor.problem(); !problem.empty()) {
    log.critical("cannot run with this configuration", {{"detail", problem}});
    return kExitBadConfig;
  }
  if (std::string const problem = supervisor.start(); !problem.empty()) {
    log.critical("cannot start", {{"detail", problem}});
    return kExitCannotRun;
  }
  io.run();
  if (!options.private_directory.empty()) {
    ::rmdir(options.private_directory.c_str());
  }
  log.flush();
  return supervisor.exit_code();
}

}  // namespace lastcall::runtime
