// The end: KILL for what is left of the tree, a moment for the supervisor's own end, the report.
#include <algorithm>

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "shim/log.hpp"
#include "shim/process_tree.hpp"
#include "shim/shim.hpp"

namespace lastcall::shim {
namespace {

constexpr Duration kIdlePassGap{100};  // where nothing was reaped since the last walk
constexpr Duration kServiceKill{250};

}  // namespace

/// Whether whatever lives is to be killed: by state, and by the second that the rest of an engine
/// gets after its main process ended on our order.
bool Shim::kills_now() const {
  switch (state_) {
    case State::waiting:
    case State::running:
    case State::holding:
    case State::stopping:
      return false;
    case State::killing:
      return true;
    case State::ended:
    case State::leaving:
      break;
  }
  if (state_ == State::leaving && engine_.is_running()) {
    return true;
  }
  std::optional<Instant> const rest = rest_kill_at(situation(), clock_);
  return rest ? now_ >= *rest : state_ == State::leaving;
}

void Shim::kill_pass(int signal, pid_t spared) {
  if (signal == SIGKILL) {
    engine_.send(SIGKILL);  // needs no /proc
  }
  tally_ = signal_tree(signal, spared);
  if (tally_.blind && signal == SIGKILL && engine_.pid() > 0) {
    kill(-engine_.pid(), SIGKILL);  // its group is all that can be known without /proc
  }
  last_pass_ = monotonic_now();
  pass_cost_ = *last_pass_ - now_;
  pass_wanted_ = false;
}

/// When the tree should be looked at again; nothing where it does not matter, or is empty.
std::optional<Instant> Shim::next_pass() const {
  if (state_ < State::killing || childless_) {
    return std::nullopt;
  }
  if (tree_done_) {
    return now_ < service_kill_at() ? service_kill_at() : now_ + kIdlePassGap;
  }
  // A walk after each reap, but never more than half of the time in walks.
  Instant const walk_at =
      last_pass_ ? *last_pass_ + (pass_wanted_ ? pass_cost_ : kIdlePassGap) : kAtOnce;
  if (state_ == State::leaving) {
    return std::min(walk_at, give_up_at(leaving_since_, clock_));
  }
  bool const known_empty = last_pass_ && !pass_wanted_ && tally_.empty() && !tally_.blind;
  if (kills_now()) {
    return known_empty ? std::nullopt : std::optional(walk_at);
  }
  return rest_kill_at(situation(), clock_);
}

void Shim::tend_tree() {
  if (state_ < State::killing || tree_done_) {
    return;
  }
  bool const looks = kills_now() || state_ == State::leaving;
  std::optional<Instant> const due = next_pass();
  if (looks && due && now_ >= *due) {
    kill_pass(kills_now() ? SIGKILL : 0, service_.pid());
  }
  if (state_ == State::leaving) {
    bool const is_empty = childless_ || (last_pass_ && tally_.empty() && !tally_.blind);
    tree_done_ = is_empty || now_ >= give_up_at(leaving_since_, clock_);
  }
}

bool Shim::has_left() {
  return state_ == State::leaving && tree_done_ && (childless_ || service_has_left());
}

Instant Shim::service_kill_at() const {
  return service_may_end_ ? service_end_at(leaving_since_, clock_) : leaving_since_;
}

/// It ends by itself once it knows that we do; then, or without that, it is killed with all it has.
bool Shim::service_has_left() {
  if (!service_.is_running()) {
    return true;
  }
  if (now_ >= service_kill_at()) {
    kill(service_.pid(), SIGKILL);
    kill_pass(SIGKILL, 0);
  }
  return now_ >= service_kill_at() + kServiceKill;
}

/// Whoever reads the terminal after us in our process group would be stopped where a group that is
/// no more has it. One that lives is another's choice: a shell's, that put us into the background.
void Shim::take_terminal_back() const {
  pid_t const foreground = options_.tty ? tcgetpgrp(STDIN_FILENO) : -1;
  if (foreground <= 0) {
    return;
  }
  bool const is_gone = kill(-foreground, 0) != 0 && errno == ESRCH;
  if (is_gone || foreground == engine_.pid()) {
    tcsetpgrp(STDIN_FILENO, getpgrp());  // SIGTTOU is blocked, so this stops nobody
  }
}

int Shim::finish() {
  TextOf<512> survivors;
  int count = 0;
  if (!childless_) {
    kill_pass(SIGKILL, 0);  // with what the supervisor left behind
    reap();
    describe_tree(survivors, 0);
    count = childless_ ? 0 : tally_.living;
  }
  if (count > 0 && now_ >= give_up_at(leaving_since_, clock_)) {
    LogLine() << "cannot end " << survivors.view();
  }
  take_terminal_back();
  int const code = exit_code_ ? *exit_code_ : code_alone();
  if (options_.supervised() && handed_report_.is_empty()) {
    Standing const standing = link_.standing(now_);
    write_own_report(options_.termination_log,
                     {.exit_code = code,
                      .stopping = in_stop(),
                      .stop_signal = stop_signal_,
                      .supervisor = standing == Standing::never     ? "never"
                                    : standing == Standing::present ? "present"
                                                                    : "gone",
                      .engine = engine_.facts(),
                      .orphans_reaped = orphans_reaped_,
                      .survivors = count});
  }
  return code;
}

}  // namespace lastcall::shim
