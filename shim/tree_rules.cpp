#include "shim/tree_rules.hpp"

#include <algorithm>

#include <errno.h>
#include <signal.h>

#include "shim/log.hpp"

namespace lastcall::shim {
namespace {

constexpr Duration kKillGap{100};  // if nothing was reaped since the last walk
constexpr Duration kRestGap{250};

/// Whether everything that lives is to be killed: because of the state, or because the grace is
/// over that the rest of an engine has after its main process ended on an order.
bool kills_now(Parts const& s) {
  switch (s.state) {
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
  std::optional<Instant> const rest = rest_kill_at(situation(s), s.clock);
  return s.rest.is_condemned() || (rest && s.now >= *rest);
}

RestOfTree::Treatment treatment(Parts const& s) {
  if (kills_now(s)) {
    return RestOfTree::Treatment::kill;
  }
  bool const asks = s.state == State::ended && s.stop.reach() == StopOrder::Reach::main &&
                    rest_kill_at(situation(s), s.clock);
  return asks ? RestOfTree::Treatment::ask : RestOfTree::Treatment::look;
}

/// Reports how the main process ended and how many it left, and then each change until none is
/// left.
void report_tree(Parts& s) {
  if (!s.engine.fate().ended || !s.rest.was_looked_at()) {
    return;
  }
  if (s.rest.is_empty(s.service.pid())) {
    s.end.tree_ended(s.now);
  }
  bool const is_news = !s.rest.is_blind() && s.engine.note_alive(s.rest.living());
  if (s.end.report()) {
    write_engine_exited(s.link.out(), s.engine.facts());
    if (!is_news || s.rest.living() == 0) {
      return;
    }
    if (s.options.supervised()) {
      LogLine() << "the command left " << s.rest.living() << " processes: " << s.rest.names();
    }
  }
  if (is_news) {
    write_engine_tree(s.link.out(), s.rest.living(), s.rest.names());
  }
}

Death message_of(ProcessNews const& death) {
  return {.pid = death.pid, .name = death.name.view(), .signal = death.signal, .at = death.at};
}

void report_ordered_death(Parts& s, ProcessNews const& news) {
  NameList living;
  Death death = message_of(news);
  death.ordered = true;
  death.alive = s.watch.others(living);
  TextOf<kLongestNames> names;
  living.write(names);
  death.raw_names = names.view();
  write_engine_died(s.link.out(), death);
}

}  // namespace

/// The supervisor's choice for the main process, unless that was KILL.
int rest_signal(Parts const& s) {
  return s.stop.rest_signal(s.options.signals.for_order(SIGTERM));
}

void kill_tree(Parts& s, pid_t spared, bool trackers_too) {
  s.engine.send(SIGKILL);  // this does not need /proc
  s.rest.treat(RestOfTree::Treatment::kill, SIGKILL, spared, trackers_too);
  if (s.rest.is_blind() && s.engine.pid() > 0) {
    kill(-s.engine.pid(), SIGKILL);  // without /proc, only the process group of the engine is known
  }
}

/// The time of the next walk of the tree; absent if no time is set or the tree is empty.
std::optional<Instant> next_pass(Parts const& s) {
  if (s.state < State::killing || s.rest.is_childless()) {
    return std::nullopt;
  }
  if (s.departure.has_tree_done()) {
    Instant const look_at = s.now + kKillGap;  // the reader of the log may be away, and come back
    Instant const kill_at = s.departure.service_kill_at(s.clock);
    return s.now < kill_at ? std::min(kill_at, look_at) : look_at;
  }
  std::optional<Instant> const look_at =
      s.rest.next_look(kills_now(s) ? kKillGap : kRestGap, s.service.pid());
  if (s.state == State::leaving) {
    return std::min(look_at.value_or(s.now + kKillGap), give_up_at(s.departure.since(), s.clock));
  }
  std::optional<Instant> const kill_at = rest_kill_at(situation(s), s.clock);
  return look_at && kill_at && s.now < *kill_at ? std::min(*look_at, *kill_at) : look_at;
}

void tend_tree(Parts& s) {
  if (s.state < State::killing || s.departure.has_tree_done()) {
    return;
  }
  RestOfTree::Treatment const how = treatment(s);
  bool const kills = how == RestOfTree::Treatment::kill;
  bool const trackers_too =
      kills && s.now >= tracker_kill_at(s.rest.only_trackers_since(), s.now, s.clock);
  if (kills) {
    s.rest.chase(s.service.pid(), trackers_too);
  }
  if (std::optional<Instant> const due = next_pass(s); due && s.now >= *due) {
    if (kills) {
      kill_tree(s, s.service.pid(), trackers_too);
    } else {
      s.rest.treat(how, rest_signal(s), s.service.pid(), false);
    }
  }
  report_tree(s);
  bool const is_done =
      s.rest.is_empty(s.service.pid()) || s.now >= give_up_at(s.departure.since(), s.clock);
  if (s.state == State::leaving && is_done) {
    s.departure.tree_is_done();
  }
}

/// After the stop signal, processes end because the shim ordered it. The supervisor is still
/// notified of them, and of those that live on, so that it does not wait for a server without its
/// core. After the KILL this does not matter any more.
void report_news(Parts& s) {
  bool const is_asked_to_end = s.state == State::stopping;
  if (s.state != State::running && s.state != State::holding && !is_asked_to_end) {
    if (s.watch.is_on()) {
      s.watch.end();
    }
    s.watch.deaths().clear();
    s.watch.stops().clear();
    return;
  }
  for (ProcessNews const& death : s.watch.deaths()) {
    if (is_asked_to_end) {
      report_ordered_death(s, death);
      continue;
    }
    write_engine_died(s.link.out(), message_of(death));
    LogLine() << death.name.view() << ", process " << death.pid << ", ended by itself";
    s.first_death.note(death, s.now);
  }
  for (ProcessNews const& stop : s.watch.stops()) {
    if (stop.pid != s.service.pid()) {
      write_engine_stopped(s.link.out(), stop.pid, stop.name.view());
    }
  }
  s.watch.deaths().clear();
  s.watch.stops().clear();
}

void repeat_first_death(Parts& s) {
  ProcessNews const* const death = s.first_death.recent(s.now);
  if (death != nullptr && s.engine.is_running()) {
    write_engine_died(s.link.out(), message_of(*death));
  }
}

}  // namespace lastcall::shim
