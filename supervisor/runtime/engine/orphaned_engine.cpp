#include "supervisor/runtime/engine/orphaned_engine.hpp"

#include <csignal>
#include <set>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <unistd.h>

#include "base/clock.hpp"
#include "supervisor/runtime/host/process_table.hpp"

namespace lastcall::runtime {
namespace {

constexpr lifecycle::Duration kTick{10};

}  // namespace

struct OrphanedEngine::Timer {
  explicit Timer(boost::asio::io_context& io) : timer(io) {}
  boost::asio::steady_timer timer;
};

OrphanedEngine::OrphanedEngine(boost::asio::io_context& io, telemetry::Log& log)
    : log_(log), timer_(std::make_unique<Timer>(io)) {}

OrphanedEngine::~OrphanedEngine() = default;

void OrphanedEngine::watch(pid_t shim, pid_t engine) {
  if (engine == main_.pid) {
    return;
  }
  forget();
  if (shim <= 0 || engine <= 0) {
    return;
  }
  // The process is held first, so that the facts that are read afterwards belong to it.
  HeldProcess process = open_process(engine);
  auto const relatives = relatives_of(engine);
  if (process && relatives && relatives->parent == shim && !has_ended(process)) {
    shim_ = shim;
    main_ = std::move(process);
  }
}

void OrphanedEngine::forget() {
  if (!is_ending_) {
    main_ = HeldProcess();
    tree_.clear();
  }
}

void OrphanedEngine::end() {
  if (main_.pid == 0 || is_ending_) {
    return;
  }
  is_ending_ = true;
  log_.warning("the engine has lost its shim: ending it", {{"engine_pid", main_.pid}});
  collect();
  send(main_, SIGTERM);
  send(main_, SIGCONT);
  limit_ = monotonic_now() + kGrace;
  tick();
}

void OrphanedEngine::end_if_adopted() {
  if (main_.pid == 0 || has_ended(main_)) {
    return;
  }
  if (auto const relatives = relatives_of(main_.pid); relatives && relatives->parent != shim_) {
    end();
  }
}

/// Collects all processes that descend from the main process or are in its session. A process that
/// was found once stays in the list, because nothing else shows where it belongs after its parent's
/// end.
void OrphanedEngine::collect() {
  std::vector<Relatives> const all = all_processes();
  std::set<pid_t> members{main_.pid};
  for (auto const& [pid, process] : tree_) {
    if (!has_ended(process)) {
      members.insert(pid);  // the number of an ended one may have been reused
    }
  }
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (Relatives const& process : all) {
      bool const belongs = members.contains(process.parent) || process.session == main_.pid;
      has_grown = (belongs && members.insert(process.pid).second) || has_grown;
    }
  }
  for (pid_t const pid : members) {
    if (pid != main_.pid && pid != ::getpid() && !tree_.contains(pid)) {
      if (HeldProcess process = open_process(pid)) {
        tree_.emplace(pid, std::move(process));
      }
    }
  }
}

bool OrphanedEngine::main_has_ended() const {
  return has_ended(main_);
}

void OrphanedEngine::tick() {
  lifecycle::Instant const now = monotonic_now();
  if (!kills_ && (main_has_ended() || now >= limit_)) {
    kills_ = true;
    limit_ = now + kPatience;
  }
  if (kills_) {
    collect();
    send(main_, SIGKILL);
    bool is_gone = main_has_ended();
    for (auto const& [pid, process] : tree_) {
      if (!has_ended(process)) {
        send(process, SIGKILL);
        is_gone = false;
      }
    }
    if (is_gone || now >= limit_) {
      log_.write(is_gone ? telemetry::LogLevel::info : telemetry::LogLevel::error,
                 is_gone ? "the engine that lost its shim has ended"
                         : "the engine that lost its shim could not be ended",
                 {{"engine_pid", main_.pid}});
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
