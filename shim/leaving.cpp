#include "shim/leaving.hpp"

#include <algorithm>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "shim/children.hpp"
#include "shim/log.hpp"
#include "shim/process_tree.hpp"
#include "shim/tree_rules.hpp"

namespace lastcall::shim {
namespace {

constexpr Duration kServiceKill{250};

/// The supervisor ends by itself once it knows that the shim ends. After that, or if it does not
/// end in time, it is killed with all its descendants.
bool service_has_left(Parts& s) {
  if (!s.service.is_running()) {
    return true;
  }
  if (is_log_full()) {
    s.departure.log_is_full(s.now);
  }
  if (s.now >= s.departure.service_kill_at(s.clock)) {
    kill(s.service.pid(), SIGKILL);
    kill_tree(s, 0, true);
  }
  return s.now >= s.departure.service_kill_at(s.clock) + kServiceKill;
}

/// If a stop begins after the engine ended, that end does not become a graceful one.
bool in_stop(Parts const& s) {
  return s.engine.fate().ended ? s.end.was_in_stop() : s.clock.running();
}

ExitQuestion question_of(Parts const& s) {
  return {.supervised = s.options.supervised(),
          .supervisor_seen = s.link.standing(s.now) != Standing::never,
          .stopping = in_stop(s),
          .on_exit = s.options.on_exit,
          .engine = s.engine.fate()};
}

int final_code(Parts const& s) {
  if (s.departure.code()) {
    return *s.departure.code();
  }
  return s.will.code() ? *s.will.code() : exit_code(question_of(s));
}

/// If a process group that no longer exists had the terminal, the next process that reads it in the
/// group of this program would be stopped. If a living group has it, another process has chosen
/// that, such as a shell that put this program into the background.
void take_terminal_back(Parts const& s) {
  pid_t const foreground = s.options.tty ? tcgetpgrp(STDIN_FILENO) : -1;
  if (foreground <= 0) {
    return;
  }
  bool const is_gone = kill(-foreground, 0) != 0 && errno == ESRCH;
  if (is_gone || foreground == s.engine.pid()) {
    tcsetpgrp(STDIN_FILENO, getpgrp());  // SIGTTOU is blocked, so this stops no process
  }
}

/// Without a report from the supervisor, this one has what the supervisor left for this case, and
/// what the shim saw.
void report_alone(Parts const& s, int code, int survivors) {
  TextOf<kLongestWillReport + 1024> report;
  make_own_report(report, {.exit_code = code,
                           .stopping = in_stop(s),
                           .stop_signal = s.stop.signal_at_us(),
                           .supervisor = s.departure.supervisor(),
                           .will = s.will.report(),
                           .engine = s.engine.facts(),
                           .orphans_reaped = s.orphans_reaped,
                           .survivors = survivors});
  std::string_view const line = report.view();
  report << "\n";
  write_report(s.options.termination_log, report.view());
  if (!s.departure.is_ordered() && s.engine.fate().started) {
    LogLine(last_words_wait(s.now, s.clock)) << "ended without the supervisor: " << line;
  }
}

/// Waits a moment for killed processes to be gone, so that only those that stay count as survivors.
void reap_the_last(Parts& s) {
  constexpr int kLooks = 10;
  constexpr int kLookMs = 2;
  reap(s);
  for (int look = 0; look < kLooks && !s.rest.is_childless(); ++look) {
    s.rest.chase(0, true);
    poll(nullptr, 0, kLookMs);
    reap(s);
  }
}

/// A supervisor that is frozen counts as present, because it is connected.
std::string_view supervisor_word(Parts const& s) {
  return s.link.standing(s.now) == Standing::never ? "never"
         : s.link.connected()                      ? "present"
                                                   : "gone";
}

}  // namespace

void leave(Parts& s) {
  Standing const standing = s.link.standing(s.now);
  if (standing == Standing::never && s.service.is_running()) {
    // It does not know of the shim; with this signal it removes its sockets.
    kill(s.service.pid(), SIGTERM);
  }
  s.departure.begin(s.now, s.departure.is_ordered() || standing != Standing::gone,
                    supervisor_word(s));
  s.service.never_restart();
  if (!s.departure.report().is_empty()) {
    write_report(s.options.termination_log, s.departure.report().view());
  }
}

void receive_late_exit(Parts& s, Order const& order) {
  if (s.departure.service_has_stopped(s.now) && order.exit_code == final_code(s)) {
    s.departure.keep_report(order.raw_report);
    write_report(s.options.termination_log, s.departure.report().view());
  }
}

void heed_exit_order(Parts& s) {
  if (!s.departure.takes_heed() || !s.departure.code()) {
    return;
  }
  int const given = *s.departure.code();
  int const code = heed_code(given, question_of(s));
  if (code == given) {
    return;
  }
  LogLine() << "the command had ended by itself before the KILL: code " << code << ", not "
            << given;
  if (s.departure.correct(code)) {
    write_report(s.options.termination_log, s.departure.report().view());
  }
  if (s.end.report()) {
    write_engine_exited(s.link.out(), s.engine.facts());
    s.link.send(s.now);
  }
}

bool has_left(Parts& s) {
  return s.state == State::leaving && s.departure.has_tree_done() &&
         (s.rest.is_childless() || service_has_left(s));
}

int finish(Parts& s) {
  TextOf<512> survivors;
  int count = 0;
  if (!s.rest.is_childless()) {
    kill_tree(s, 0, true);  // together with what the supervisor left behind
    reap_the_last(s);
  }
  if (!s.rest.is_childless()) {
    s.rest.treat(RestOfTree::Treatment::look, 0, 0, true);
    count = std::max(s.rest.living(), 1);
    describe_tree(survivors, 0);
    LogLine() << "cannot end "
              << (survivors.view().empty() ? "processes that keep forking and end before they "
                                             "are found"
                                           : survivors.view());
  }
  take_terminal_back(s);
  int const code = final_code(s);
  if (s.options.supervised() && s.departure.report().is_empty()) {
    report_alone(s, code, count);
  }
  return code;
}

}  // namespace lastcall::shim
