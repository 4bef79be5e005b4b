#include "supervisor/runtime/host/descriptor_limit.hpp"

#include <optional>

namespace lastcall::runtime {
namespace {

/// The soft limit that we were started with; nothing as long as it is still in force.
std::optional<rlim_t> original_soft_limit;

}  // namespace

std::uint64_t raise_descriptor_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  rlimit const raised{limit.rlim_max, limit.rlim_max};
  if (limit.rlim_cur < limit.rlim_max && ::setrlimit(RLIMIT_NOFILE, &raised) == 0) {
    original_soft_limit = limit.rlim_cur;
    return raised.rlim_cur;
  }
  return limit.rlim_cur;
}

OriginalDescriptorLimit::OriginalDescriptorLimit() {
  if (original_soft_limit && ::getrlimit(RLIMIT_NOFILE, &raised_) == 0) {
    rlimit const original{*original_soft_limit, raised_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &original);
  }
}

OriginalDescriptorLimit::~OriginalDescriptorLimit() {
  if (raised_.rlim_max != 0) {
    ::setrlimit(RLIMIT_NOFILE, &raised_);
  }
}

}  // namespace lastcall::runtime
