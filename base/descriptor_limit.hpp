// The limit on open descriptors of one of our programs and of its children.
//
// Rules:
//  1. A program that serves connections raises its soft limit to the hard one: each connection
//     costs two descriptors (its socket, and the pidfd of its process or the connection to the
//     engine), and most systems start programs with a soft limit of 1024.
//  2. A child gets the soft limit that the program was started with: programs that use select(2)
//     or close every descriptor up to the limit break with a large one.
//
// Thread rule: raise it once, before the first child starts. Source: getrlimit(2), select(2).
#pragma once

#include <cstdint>
#include <optional>

#include <sys/resource.h>

namespace lastcall {

/// Raises the soft limit to the hard one. If the kernel refuses, nothing changes.
void raise_descriptor_limit();

/// The soft limit that is in force.
std::uint64_t descriptor_limit();

/// The limit to give a child; absent if ours was not raised.
std::optional<rlimit> original_descriptor_limit();

}  // namespace lastcall
