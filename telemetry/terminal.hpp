// The device on which a descriptor shows its text, and what may be written there.
//
// Thread rule: any thread. Source: termios(4), TIOCGWINSZ; NO_COLOR (no-color.org).
#pragma once

#include <cstddef>

#include "config/environment.hpp"

namespace lastcall::runtime {

struct Terminal {
  bool is_there = false;
  bool is_screen = false;   // its cursor can be moved
  bool has_color = false;   // and it takes colours, which NO_COLOR forbids
  std::size_t columns = 0;  // 0: unknown, or it is no terminal
};

/// TERM=dumb is a terminal that does nothing but print. COLUMNS is believed before the terminal.
Terminal terminal_of(int fd, config::Environment const& environment);

}  // namespace lastcall::runtime
