// Reads what a descriptor has, to its end.
//
// Rule: a failure in the middle is a failure, not an end; streams of the standard library report
// it as one, or as an exception without the file's name. Source: read(2).
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>

#include <unistd.h>

namespace lastcall {

/// Appends to `text` until the end, or until it has more than `most` bytes. Returns 0 or the errno.
inline int read_to_end(int fd, std::string& text, std::size_t most = std::string::npos) {
  std::array<char, 65'536> buffer{};
  while (text.size() <= most) {
    ssize_t const count = ::read(fd, buffer.data(), buffer.size());
    if (count > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(count));
    } else if (count == 0) {
      return 0;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace lastcall
