#include "telemetry/terminal.hpp"

#include <charconv>
#include <string>

#include <sys/ioctl.h>
#include <unistd.h>

namespace lastcall::telemetry {
namespace {

std::size_t columns_of(int fd, config::Environment const& environment) {
  if (auto const given = environment("COLUMNS")) {
    std::size_t columns = 0;
    std::from_chars(given->data(), given->data() + given->size(), columns);
    if (columns > 0) {
      return columns;
    }
  }
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

Terminal terminal_of(int fd, config::Environment const& environment) {
  Terminal terminal;
  if (::isatty(fd) != 1) {
    return terminal;
  }
  terminal.is_there = true;
  terminal.is_screen = environment("TERM").value_or("dumb") != "dumb";
  terminal.has_color = terminal.is_screen && environment("NO_COLOR").value_or("").empty();
  terminal.columns = columns_of(fd, environment);
  return terminal;
}

}  // namespace lastcall::telemetry
