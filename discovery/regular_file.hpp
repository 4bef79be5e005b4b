// Reads files in places that others may write to: only regular files, and only up to a limit.
//
// Rules:
//  1. Links are followed, because Kubernetes mounts files as links. If the target is not a regular
//     file, such as a pipe, it is refused and never waited for.
//  2. No more is read than the caller allows.
//
// No state, no thread rule; blocks as regular files do. Source: open(2), fifo(7).
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/descriptor.hpp"

namespace lastcall::discovery {

/// Opens the file for reading; nothing if it cannot be opened or is not a regular file.
Descriptor open_regular(std::string const& path);

struct RegularText {
  std::optional<std::string> text;  // absent if the file cannot be read or has too many bytes
  int error = 0;  // why the system could not read it; 0 if it is no regular file, or too long
};

/// The whole content, unless it has more than `most` bytes.
RegularText read_regular(std::string const& path, std::size_t most);

}  // namespace lastcall::discovery
