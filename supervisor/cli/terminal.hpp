// What standard output is, and what may be written there.
#pragma once

#include <cstddef>

#include "config/environment.hpp"

namespace lastcall::cli {

struct Terminal {
  bool is_screen = false;   // a terminal whose cursor can be moved
  bool has_color = false;   // and that takes colours, which NO_COLOR forbids
  std::size_t columns = 0;  // 0: nobody knows, or it is no terminal
};

/// TERM=dumb is a terminal that does nothing but print. COLUMNS is believed before the terminal.
Terminal terminal_of_output(config::Environment const& environment);

}  // namespace lastcall::cli
