// Signals that the supervisor itself receives.
//
// Rules:
//  1. TERM, INT and QUIT are passed to the core, which knows their meaning. HUP requests a reload.
//  2. Handlers are installed before the first thread; programs that the supervisor starts get
//     default signal actions again.
//  3. The launcher holds back the signals for `serve`, and so does this class until release(): the
//     start may have to wait for something, and can see then whether a stop waits for it.
//
// Thread rule: the loop's thread. Source: signal(7).
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace boost::asio {
class io_context;
}

namespace lastcall::runtime {

class OwnSignals {
 public:
  /// `name` is without SIG.
  using OnSignal = std::function<void(std::string const& name)>;

  OwnSignals(boost::asio::io_context& io, OnSignal on_signal);
  ~OwnSignals();

  /// Delivers the signals from now on; one that has arrived before is handled like any other.
  void release();
  /// Whether a TERM, INT or QUIT is held back.
  static bool is_stop_waiting();

 private:
  struct Set;
  void wait();

  OnSignal on_signal_;
  std::unique_ptr<Set> set_;
};

}  // namespace lastcall::runtime
