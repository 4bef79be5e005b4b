// The end: KILL for what is left of the tree, a moment for the supervisor's own end, the report.
#include <algorithm>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "shim/log.hpp"
#include "shim/process_tree.hpp"
#include "shim/shim.hpp"

namespace lastcall::shim {
namespace {

constexpr Duration kKillGap{100};  // where nothing was reaped since the last walk
constexpr Duration kLookGap{250};
constexpr Duration kServiceKill{250};
constexpr Duration kNewsAge{10'000};

}  // namespace

/// Whether whatever lives is to be killed: by state, and by the grace that the rest of an engine
/// has after its main process ended on our order.
bool Shim::kills_now() const {
  switch (state_) {
    case State::waiting:
    case State::running:
    case State::holding:
    case State::stopping:
      return false;
    case State::killing:
    case State::leaving:
      return true;
    case State::ended:
      break;
  }
  std::optional<Instant> const rest = rest_kill_at(situation(), clock_);
  return rest_.is_condemned() || (rest && now_ >= *rest);
}

/// The supervisor's choice for the main process, which may have been KILL.
int Shim::rest_signal() const {
  bool const is_given = ordered_signal_ != 0 && ordered_signal_ != SIGKILL;
  return is_given ? ordered_signal_ : options_.signals.for_order(SIGTERM);
}

RestOfTree::Treatment Shim::treatment() const {
  if (kills_now()) {
    return RestOfTree::Treatment::kill;
  }
  bool const asks = state_ == State::ended && !ordered_tree_ && rest_kill_at(situation(), clock_);
  return asks ? RestOfTree::Treatment::ask : RestOfTree::Treatment::look;
}

void Shim::kill_tree(pid_t spared, bool trackers_too) {
  engine_.send(SIGKILL);  // needs no /proc
  rest_.treat(RestOfTree::Treatment::kill, SIGKILL, spared, trackers_too);
  if (rest_.is_blind() && engine_.pid() > 0) {
    kill(-engine_.pid(), SIGKILL);  // its group is all that can be known without /proc
  }
}

/// When the tree should be looked at again; nothing where it does not matter, or is empty.
std::optional<Instant> Shim::next_pass() const {
  if (state_ < State::killing || rest_.is_childless()) {
    return std::nullopt;
  }
  if (tree_done_) {
    return now_ < service_kill_at() ? service_kill_at() : now_ + kKillGap;
  }
  std::optional<Instant> const look_at =
      rest_.next_look(kills_now() ? kKillGap : kLookGap, service_.pid());
  if (state_ == State::leaving) {
    return std::min(look_at.value_or(now_ + kKillGap), give_up_at(leaving_since_, clock_));
  }
  std::optional<Instant> const kill_at = rest_kill_at(situation(), clock_);
  return look_at && kill_at && now_ < *kill_at ? std::min(*look_at, *kill_at) : look_at;
}

void Shim::tend_tree() {
  if (state_ < State::killing || tree_done_) {
    return;
  }
  RestOfTree::Treatment const how = treatment();
  bool const kills = how == RestOfTree::Treatment::kill;
  bool const trackers_too =
      kills && now_ >= tracker_kill_at(rest_.only_trackers_since(), now_, clock_);
  if (kills) {
    rest_.chase(service_.pid(), trackers_too);
  }
  if (std::optional<Instant> const due = next_pass(); due && now_ >= *due) {
    if (kills) {
      kill_tree(service_.pid(), trackers_too);
    } else {
      rest_.treat(how, rest_signal(), service_.pid(), false);
    }
  }
  tell_tree();
  if (state_ == State::leaving) {
    tree_done_ = rest_.is_empty(service_.pid()) || now_ >= give_up_at(leaving_since_, clock_);
  }
}

/// After the stop signal processes end by our doing: the supervisor is told, so that it does not
/// wait for a server without its core. From the KILL on nobody is interested.
void Shim::tell_news() {
  bool const is_asked_to_end = state_ == State::stopping;
  if (state_ != State::running && state_ != State::holding && !is_asked_to_end) {
    if (watch_.is_on()) {
      watch_.end();
    }
    watch_.deaths().clear();
    watch_.stops().clear();
    return;
  }
  for (ProcessNews const& death : watch_.deaths()) {
    write_engine_died(link_.out(), death.pid, death.name.view(), death.signal, death.at);
    if (is_asked_to_end) {
      continue;
    }
    LogLine() << death.name.view() << ", process " << death.pid << ", has ended by itself";
    if (!first_death_ || now_ - first_death_->at > kNewsAge) {
      first_death_ = death;
    }
  }
  for (ProcessNews const& stop : watch_.stops()) {
    if (stop.pid != service_.pid()) {
      write_engine_stopped(link_.out(), stop.pid, stop.name.view());
    }
  }
  watch_.deaths().clear();
  watch_.stops().clear();
}

void Shim::repeat_first_death() {
  if (first_death_ && now_ - first_death_->at <= kNewsAge && engine_.is_running()) {
    write_engine_died(link_.out(), first_death_->pid, first_death_->name.view(),
                      first_death_->signal, first_death_->at);
  }
}

/// How the main process ended and how many it left, and then each change until none is left.
void Shim::tell_tree() {
  if (!engine_.fate().ended || !rest_.was_looked_at()) {
    return;
  }
  if (rest_.is_empty(service_.pid()) && !tree_ended_at_) {
    tree_ended_at_ = now_;
  }
  bool const is_news = !rest_.is_blind() && engine_.note_alive(rest_.living());
  if (!end_is_told_) {
    end_is_told_ = true;
    write_engine_exited(link_.out(), engine_.facts());
    if (!is_news || rest_.living() == 0) {
      return;
    }
    if (options_.supervised()) {
      LogLine() << "the command left " << rest_.living() << " processes: " << rest_.names();
    }
  }
  if (is_news) {
    write_engine_tree(link_.out(), rest_.living(), rest_.names());
  }
}

bool Shim::has_left() {
  return state_ == State::leaving && tree_done_ && (rest_.is_childless() || service_has_left());
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
    kill_tree(0, true);
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

/// No word of the supervisor's own is there: what it left for this case, and what we saw.
void Shim::report_alone(int code, int survivors) const {
  Standing const standing = link_.standing(now_);
  TextOf<kLongestWillReport + 1024> report;
  make_own_report(report, {.exit_code = code,
                           .stopping = in_stop(),
                           .stop_signal = stop_signal_,
                           .supervisor = standing == Standing::never     ? "never"
                                         : standing == Standing::present ? "present"
                                                                         : "gone",
                           .will = will_.report(),
                           .engine = engine_.facts(),
                           .orphans_reaped = orphans_reaped_,
                           .survivors = survivors});
  std::string_view const line = report.view();
  report << "\n";
  write_report(options_.termination_log, report.view());
  if (!exit_ordered_ && engine_.fate().started) {
    LogLine(last_words_wait(now_, clock_)) << "ended without the supervisor: " << line;
  }
}

/// What was just killed has a moment to be gone, so that only what stays is called a survivor.
void Shim::reap_the_last() {
  constexpr int kLooks = 10;
  constexpr int kLookMs = 2;
  reap();
  for (int look = 0; look < kLooks && !rest_.is_childless(); ++look) {
    rest_.chase(0, true);
    poll(nullptr, 0, kLookMs);
    reap();
  }
}

int Shim::finish() {
  TextOf<512> survivors;
  int count = 0;
  if (!rest_.is_childless()) {
    kill_tree(0, true);  // with what the supervisor left behind
    reap_the_last();
  }
  if (!rest_.is_childless()) {
    rest_.treat(RestOfTree::Treatment::look, 0, 0, true);
    count = std::max(rest_.living(), 1);
    describe_tree(survivors, 0);
    LogLine() << "cannot end "
              << (survivors.view().empty() ? "processes that fork on and end before they are found"
                                           : survivors.view());
  }
  take_terminal_back();
  int const code = exit_code_ ? *exit_code_ : code_alone();
  if (options_.supervised() && handed_report_.is_empty()) {
    report_alone(code, count);
  }
  return code;
}

}  // namespace lastcall::shim
