// The shim: one loop that turns signals, reaped children, lines and time into events, asks the
// state table what each means, and does that.
//
// Invariants:
//  1. Only reap results tell that a process ended, never a SIGCHLD (they coalesce).
//  2. Nothing blocks: not the supervisor, not a full log, not a process that cannot be killed.
//  3. Once a stop has a deadline D, the process exits by D (plus a moment for KILLed children).
//  4. At rest the loop sleeps without a timeout; looking for a lost supervisor is the exception,
//  and
//     asking one of our own every 5 s whether it still answers.
//
// Thread rule: there is one thread. Source: specification, 'Shim'; wait(2), signalfd(2).
#pragma once

#include <optional>

#include "shim/deadline_rules.hpp"
#include "shim/engine.hpp"
#include "shim/launch.hpp"
#include "shim/link.hpp"
#include "shim/options.hpp"
#include "shim/report.hpp"
#include "shim/rest_of_tree.hpp"
#include "shim/revival.hpp"
#include "shim/service.hpp"
#include "shim/state_table.hpp"
#include "shim/tree_watch.hpp"
#include "shim/vigil.hpp"
#include "shim/will.hpp"

namespace lastcall::shim {

class Shim {
 public:
  Shim(Options const& options, Launch& launch, int signals, char* const* environment);

  /// Exit code.
  int run();

 private:
  // shim.cpp: what comes in
  std::optional<int> begin();
  void wait();
  void take_signals();
  void take_signal(int signal, pid_t sender, int code);
  void take_stop_signal(int signal, pid_t sender);
  void reap();
  void engine_ended(Ending ending);
  void service_ended(Ending ending);
  void revive_if_due();
  void watch_service();
  void apply_due_rules();
  void note_standing();
  std::optional<Instant> next_wake() const;
  Situation situation() const;

  // orders.cpp: the conversation with the supervisor
  void talk();
  void hear_last_words();
  void obey_lines();
  void say_hello();
  void obey_line(std::string_view line);
  void obey(Order const& order);
  void obey_welcome(Order const& order);
  void obey_phase(Order const& order);
  void obey_will(Order const& order);
  void begin_stop_elsewhere(Instant deadline);
  void obey_signal(Order const& order);
  void hear_error(Order const& order);
  bool is_new_refusal(std::string_view refusal);

  // actions.cpp: what the table says
  void happen(Event event);
  void perform(Action action, Event event);
  void start_engine(Event event);
  void refuse_start(Ending ending);
  void stop_engine(Event event);
  void settle();
  void give_up(int code);
  void leave();
  bool in_stop() const;
  int code_alone() const;

  // leaving.cpp: ending the rest of the tree, then ourselves
  bool has_left();
  bool kills_now() const;
  void tend_tree();
  bool service_has_left();
  int rest_signal() const;
  RestOfTree::Treatment treatment() const;
  void kill_tree(pid_t spared, bool trackers_too);
  void tell_tree();
  void tell_news();
  void repeat_first_death();
  std::optional<Instant> next_pass() const;
  Instant service_kill_at() const;
  void take_terminal_back() const;
  void report_alone(int code, int survivors) const;
  void reap_the_last();
  int finish();

  Options const& options_;
  Launch& launch_;
  int signals_;
  int epoll_;
  Instant now_;
  Instant began_at_;

  Engine engine_;
  Service service_;
  Vigil vigil_;
  Revival revival_;
  Link link_;
  StopClock clock_;
  State state_ = State::waiting;

  int stop_signal_ = 0;  // the first one at us
  Instant stop_signal_at_{};
  int ordered_signal_ = 0;  // the supervisor's choice for the stop
  bool ordered_tree_ = false;
  Instant ended_at_{};
  bool stopping_at_end_ = false;
  bool link_readable_ = false;
  static constexpr std::size_t kLongestRefusal = 64;
  TextOf<kLongestRefusal> refusal_;  // why the last connection was not welcomed, as it was logged
  Standing last_standing_ = Standing::never;

  std::optional<int> exit_code_;  // given, or a failure of our own
  bool exit_ordered_ = false;
  Instant leaving_since_{};
  bool service_may_end_ = false;  // it knows or was told, and gets its moment

  TreeWatch watch_;
  std::optional<ProcessNews> first_death_;  // of the last seconds, for who connects anew
  RestOfTree rest_;
  std::optional<Instant> tree_ended_at_;
  bool end_is_told_ = false;
  bool tree_done_ = false;
  std::int64_t orphans_reaped_ = 0;

  Will will_;
  HandedReport handed_report_;
  TextOf<kLargestRawBlob> blob_;
  TextOf<17> boot_;
};

}  // namespace lastcall::shim
