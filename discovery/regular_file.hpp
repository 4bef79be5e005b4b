// Files in places that others may write to: regular ones, and no more of them than is asked for.
//
// Rules:
//  1. Links are followed, because Kubernetes mounts files as links; what is no regular file in the
//     end, such as a pipe, is refused, and never waited for.
//  2. No more is read than the caller says.
//
// No state, no thread rule; blocks as regular files do. Source: open(2), fifo(7).
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/descriptor.hpp"

namespace lastcall::discovery {

/// Opened for reading; nothing where it cannot be, or is no regular file.
Descriptor open_regular(std::string const& path);

/// All that is in it; nothing where it cannot be read or has more than `most` bytes.
std::optional<std::string> read_regular(std::string const& path, std::size_t most);

}  // namespace lastcall::discovery
