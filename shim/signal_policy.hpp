// Decides what happens to a signal that arrives at the shim: it is held for the supervisor,
// forwarded (perhaps as another signal), or dropped.
//
// Rules: 1. SIGCHLD, and a SIGPIPE or SIGXFSZ that the shim caused, are for the shim; 2. a signal
// is a stop signal if it, or the signal that it is rewritten to, is in the stop set; 3. a rewrite
// is applied once, to any signal that the engine is about to get, except KILL and CONT; 4. a fault
// signal that the kernel raised concerns memory or code of the shim alone, while one that a process
// sent is meant for the engine (ABRT requests a core or a stack dump); 5. an engine with its own
// session is in an orphaned process group, where the kernel drops TSTP, TTIN and TTOU: it gets STOP
// instead of them, as under dumb-init. Pure values. Source: signal(7), signalfd(2), specification,
// 'Shim'; `--rewrite` follows dumb-init.
#pragma once

#include <cstdint>
#include <string_view>

#include "shim/signal_names.hpp"

namespace lastcall::shim {

class SignalPolicy {
 public:
  SignalPolicy();

  /// Reads `TERM,INT,RTMIN+3`; returns false if a name is unknown or the list is empty.
  bool set_stop_signals(std::string_view list);
  /// Reads `15:3`, `HUP:TERM`, `USR1:0`; returns false if the rule is malformed.
  bool add_rewrite(std::string_view rule);
  /// Applies rule 5 to the signals that no `--rewrite` named; call it last.
  void finish(bool engine_has_own_session);

  bool is_stop(int signal) const;
  /// Rule 4; `code` is the siginfo's si_code.
  static bool is_own_fault(int signal, int code);
  /// The signal that the engine gets for `signal`; 0 for none.
  int for_engine(int signal) const { return rewrite_[signal]; }
  /// The same for a signal that the shim or the supervisor chose: only the user's rewrites apply.
  int for_order(int signal) const;

 private:
  SignalBits stop_set_ = 0;
  SignalBits named_ = 0;  // the signals for which the user gave a rewrite
  std::uint8_t rewrite_[kSignalLimit] = {};
};

}  // namespace lastcall::shim
