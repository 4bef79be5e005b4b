// The terminal behind a descriptor, and what may be written to it.
//
// Thread rule: any thread. Source: termios(4), TIOCGWINSZ; NO_COLOR (no-color.org).
#pragma once

#include <cstddef>

#include "config/environment.hpp"

namespace lastcall::telemetry {

struct Terminal {
  bool is_there = false;
  bool is_screen = false;   // its cursor can be moved
  bool has_color = false;   // it shows colours, and NO_COLOR does not forbid them
  std::size_t columns = 0;  // 0: unknown, or it is no terminal
};

/// With TERM=dumb the terminal can only print. COLUMNS takes precedence over the terminal's width.
Terminal terminal_of(int fd, config::Environment const& environment);

}  // namespace lastcall::telemetry
