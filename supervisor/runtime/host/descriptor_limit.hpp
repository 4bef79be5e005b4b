// How many descriptors the supervisor may have, and its children.
//
// Rules:
//  1. The supervisor takes its hard limit: every connection costs two descriptors (its socket and
//     the pidfd of its process), and 1024 is the soft limit that most systems begin with.
//  2. A child gets the soft limit that we were started with: programs that use select(2) or close
//     everything up to the limit break with a large one. posix_spawn(3) cannot set it, so it is
//     ours for the moment of a spawn. That takes no open descriptor away; another thread that
//     wants a new one in that moment, while more than the old limit are open, fails with EMFILE.
//
// Thread rule: raise once, before the first child; OriginalDescriptorLimit on one thread at a time.
// Source: getrlimit(2), select(2).
#pragma once

#include <cstdint>

#include <sys/resource.h>

namespace lastcall::runtime {

/// Raises the soft limit to the hard one; the limit then. What the kernel refuses changes nothing.
std::uint64_t raise_descriptor_limit();

/// For as long as it lives the soft limit is the one that we were started with.
class OriginalDescriptorLimit {
 public:
  OriginalDescriptorLimit();
  ~OriginalDescriptorLimit();
  OriginalDescriptorLimit(OriginalDescriptorLimit const&) = delete;
  OriginalDescriptorLimit& operator=(OriginalDescriptorLimit const&) = delete;

 private:
  rlimit raised_{};
};

}  // namespace lastcall::runtime
