// The end of the process: what the parts still have to say gets a bounded time, then the loop
// stops.
//
// Invariants:
//  1. It begins in the turn after the order: a `hello` that ends the supervisor is still answered
//     with the `welcome` and the `exit`.
//  2. The steps come in the order of their declaration. A correction of the report is awaited for
//     kFlushWait, and so is the output after everything was closed.
//  3. An engine that was adopted gets all the time that it needs.
//
// Thread rule: the loop's thread. Source: specification, 'Drain report'.
#pragma once

#include <functional>

#include "core/instant.hpp"

namespace boost::asio {
class io_context;
}

namespace lastcall::runtime {

inline constexpr lifecycle::Duration kFlushWait{200};

class Ending {
 public:
  struct Steps {
    std::function<void()> say_goodbye;
    /// Whether the report can no longer be corrected.
    std::function<bool()> report_is_final;
    /// Ends what takes calls and connections; output that waits is still written.
    std::function<void()> close;
    /// Whether all output is written. It is asked until then, and may help to get there.
    std::function<bool()> is_flushed;
    /// Whether no adopted engine is left to be ended.
    std::function<bool()> is_alone;
    std::function<void()> stop;
  };

  Ending(boost::asio::io_context& io, Steps steps);

  void begin(int code);
  /// The code of the process, once it has ended.
  int exit_code() const { return exit_code_; }

 private:
  void await_output(lifecycle::Instant limit);

  boost::asio::io_context& io_;
  Steps const steps_;
  int exit_code_ = 0;
  bool is_flushed_ = false;
};

}  // namespace lastcall::runtime
