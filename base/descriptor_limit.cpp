#include "base/descriptor_limit.hpp"

namespace lastcall {
namespace {

/// The limit that we were started with; empty while that limit is still in force.
std::optional<rlimit> original;

}  // namespace

void raise_descriptor_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  rlimit const raised{limit.rlim_max, limit.rlim_max};
  if (limit.rlim_cur < limit.rlim_max && ::setrlimit(RLIMIT_NOFILE, &raised) == 0) {
    original = limit;
  }
}

std::uint64_t descriptor_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

std::optional<rlimit> original_descriptor_limit() {
  return original;
}

}  // namespace lastcall
