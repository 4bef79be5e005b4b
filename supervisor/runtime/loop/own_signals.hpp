// Signals that the supervisor itself receives.
//
// Rules:
//  1. TERM, INT and QUIT are passed to the core, which knows their meaning. HUP requests a reload.
//  2. Handlers are installed before the first thread; programs that the supervisor starts get
//     default signal actions again.
//  3. The launcher holds back the signals for `serve`, and so does this class until release(): the
//     start may have to wait for something, and can see then whether a stop waits for it. Under
//     `run` the shim decides about stops: there a signal means one if the shim has sent it (to a
//     supervisor that it does not know yet), or if the shim is gone.
//
// Thread rule: the loop's thread. Source: signal(7).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <signal.h>
#include <sys/types.h>

namespace boost::asio {
class io_context;
}

namespace lastcall::runtime {

class OwnSignals {
 public:
  /// `name` is without SIG.
  using OnSignal = std::function<void(std::string const& name)>;

  /// `shim`: the parent process under `run`, otherwise 0.
  OwnSignals(boost::asio::io_context& io, pid_t shim, OnSignal on_signal);
  ~OwnSignals();

  /// Delivers the signals from now on; one that has arrived before is handled like any other.
  void release();
  /// Whether a TERM, INT or QUIT is held back that ends this process.
  bool is_stop_waiting();

 private:
  struct Set;
  void wait();

  pid_t const shim_;
  OnSignal on_signal_;
  std::unique_ptr<Set> set_;
  sigset_t taken_{};  // to find out who has sent them; they are to be delivered at the release
  bool is_stop_waiting_ = false;
};

}  // namespace lastcall::runtime
