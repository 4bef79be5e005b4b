#include "supervisor/runtime/serve.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/system/system_error.hpp>
#include <malloc.h>
#include <unistd.h>

#include "base/descriptor_limit.hpp"
#include "base/failed_writes.hpp"
#include "supervisor/runtime/host/descriptor_shares.hpp"
#include "supervisor/runtime/supervisor.hpp"
#include "telemetry/log.hpp"

namespace lastcall::runtime {
namespace {

constexpr int kExitCannotRun = 1;
constexpr int kExitBadConfig = 2;

/// Two threads do little, so one arena is enough, and freed memory is returned. A request body that
/// waits is as long as one read of the ingress; on the heap it would leave a hole between parts
/// that stay in use.
void keep_memory_small() {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_TRIM_THRESHOLD, 64 * 1024);
  mallopt(M_MMAP_THRESHOLD, 64 * 1024);
}

void make_room_for_connections(telemetry::Log& log, std::uint32_t threads) {
  raise_descriptor_limit();
  std::uint64_t const limit = descriptor_limit();
  DescriptorShares const shares = descriptor_shares(limit, threads);
  if (limit < shares.wanted) {
    log.warning("the hard limit of open files is too low for all connections",
                {{"limit", limit},
                 {"needed", shares.wanted},
                 {"connections", shares.sessions},
                 {"operators", shares.operators}});
  }
}

/// Lives until the end of the process: its destructor would wait for the lookup of a name by a
/// check, which takes long if a name server hangs.
boost::asio::io_context& loop_of_the_process() {
  static boost::asio::io_context& io = *std::make_unique<boost::asio::io_context>(1).release();
  return io;
}

struct Started {
  std::unique_ptr<Supervisor> supervisor;
  int code = 0;  // of the process, if it cannot start
};

Started start(config::Config const& config, ServeOptions const& options, telemetry::Log& log) {
  auto supervisor = std::make_unique<Supervisor>(loop_of_the_process(), config, options, log);
  if (std::string const problem = supervisor->problem(); !problem.empty()) {
    log.critical("cannot run with this configuration", {{"detail", problem}});
    return {nullptr, kExitBadConfig};
  }
  if (std::string const problem = supervisor->start(); !problem.empty()) {
    log.critical("cannot start", {{"detail", problem}});
    return {nullptr, kExitCannotRun};
  }
  return {std::move(supervisor), 0};
}

/// The library's objects throw if they get no descriptor, and cannot be used without it.
Started start_if_there_is_room(config::Config const& config, ServeOptions const& options,
                               telemetry::Log& log) {
  try {
    return start(config, options, log);
  } catch (boost::system::system_error const& error) {
    log.critical("cannot start",
                 {{"detail", error.code().message()}, {"open_files_limit", descriptor_limit()}});
    return {nullptr, kExitCannotRun};
  }
}

}  // namespace

int serve(config::Config const& config, ServeOptions const& options) {
  keep_memory_small();
  let_failed_writes_be_errors();
  telemetry::Log log(config.log.level, config.log.format, STDERR_FILENO);
  make_room_for_connections(log, config.ingress.threads);
  auto const [supervisor, code] = start_if_there_is_room(config, options, log);
  if (!supervisor) {
    log.flush();
    return code;
  }
  loop_of_the_process().run();
  if (!options.private_directory.empty()) {
    ::rmdir(options.private_directory.c_str());
  }
  log.flush();
  return supervisor->exit_code();
}

}  // namespace lastcall::runtime
