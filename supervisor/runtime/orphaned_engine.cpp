#include "supervisor/runtime/orphaned_engine.hpp"

#include <csignal>
#include <set>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <unistd.h>

#include "supervisor/runtime/clock.hpp"
#include "supervisor/runtime/process_table.hpp"

namespace lastcall::runtime {
namespace {

constexpr lifecycle::Duration kTick{10};

}  // namespace

struct OrphanedEngine::Timer {
  explicit Timer(boost::asio::io_context& io) : timer(io) {}
  boost::asio::steady_timer timer;
};

OrphanedEngine::OrphanedEngine(boost::asio::io_context& io, Log& log)
    : log_(log), timer_(std::make_unique<Timer>(io)) {}

OrphanedEngine::~OrphanedEngine() = default;

void OrphanedEngine::watch(pid_t shim, pid_t engine) {
  if (engine == main_) {
    return;
  }
  forget();
  if (shim <= 0 || engine <= 0) {
    return;
  }
  // The descriptor first: what is asked about afterwards is the process that it holds.
  ipc::Fd process = open_process(engine);
  auto const relatives = relatives_of(engine);
  if (process && relatives && relatives->parent == shim && !has_ended(process)) {
    main_ = engine;
    main_fd_ = std::move(process);
  }
}

void OrphanedEngine::forget() {
  if (!is_ending_) {
    main_ = 0;
    main_fd_ = ipc::Fd();
    tree_.clear();
  }
}

void OrphanedEngine::end() {
  if (main_ == 0 || is_ending_) {
    return;
  }
  is_ending_ = true;
  log_.warning("the engine has lost its shim: it is ended", {{"engine_pid", main_}});
  collect();
  send(main_fd_, SIGTERM);
  send(main_fd_, SIGCONT);
  limit_ = monotonic_now() + kGrace;
  tick();
}

/// Everything that descends from the main process or is in its session. What was found once stays
/// in the list: after its parent's end nothing else would tell where it belongs.
void OrphanedEngine::collect() {
  std::vector<Relatives> const all = all_processes();
  std::set<pid_t> members{main_};
  for (auto const& [pid, process] : tree_) {
    if (!has_ended(process)) {
      members.insert(pid);  // of one that has ended the number may be another's by now
    }
  }
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (Relatives const& process : all) {
      bool const belongs = members.contains(process.parent) || process.session == main_;
      has_grown = (belongs && members.insert(process.pid).second) || has_grown;
    }
  }
  for (pid_t const pid : members) {
    if (pid != main_ && pid != ::getpid() && !tree_.contains(pid)) {
      if (ipc::Fd process = open_process(pid)) {
        tree_.emplace(pid, std::move(process));
      }
    }
  }
}

bool OrphanedEngine::main_has_ended() const {
  return has_ended(main_fd_);
}

void OrphanedEngine::tick() {
  lifecycle::Instant const now = monotonic_now();
  if (!kills_ && (main_has_ended() || now >= limit_)) {
    kills_ = true;
    limit_ = now + kPatience;
  }
  if (kills_) {
    collect();
    send(main_fd_, SIGKILL);
    bool is_gone = main_has_ended();
    for (auto const& [pid, process] : tree_) {
      if (!has_ended(process)) {
        send(process, SIGKILL);
        is_gone = false;
      }
    }
    if (is_gone || now >= limit_) {
      log_.write(is_gone ? LogLevel::info : LogLevel::error, "the engine without a shim",
                 {{"engine_pid", main_}, {"is_gone", is_gone}});
      is_ending_ = false;
      forget();
      return;
    }
  }
  timer_->timer.expires_after(kTick);
  timer_->timer.async_wait([this](boost::system::error_code error) {
    if (!error) {
      tick();
    }
  });
}

}  // namespace lastcall::runtime
