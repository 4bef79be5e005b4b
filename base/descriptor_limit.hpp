// The limit of descriptors of a program of ours and of its children.
//
// Rules:
//  1. A program that serves connections takes its hard limit: each costs two descriptors (its
//     socket, and the pidfd of its process or the connection to the engine), and 1024 is the soft
//     limit that most systems begin with.
//  2. A child gets the soft limit that the program was started with: programs that use select(2)
//     or close everything up to the limit break with a large one.
//
// Thread rule: raise once, before the first child. Source: getrlimit(2), select(2).
#pragma once

#include <cstdint>
#include <optional>

#include <sys/resource.h>

namespace lastcall {

/// Raises the soft limit to the hard one. A refusal of the kernel changes nothing.
void raise_descriptor_limit();

/// The soft limit that is in force.
std::uint64_t descriptor_limit();

/// The limit for a child; absent if ours was not raised.
std::optional<rlimit> original_descriptor_limit();

}  // namespace lastcall
