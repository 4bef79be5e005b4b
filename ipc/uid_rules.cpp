#include "ipc/uid_rules.hpp"

#include <algorithm>

#include <unistd.h>

namespace lastcall::ipc {

bool UidRules::is_allowed(uid_t uid, bool is_admin) const {
  auto const& others = options_.allow_uids;
  return (options_.allow_any_uid && !is_admin) || uid == 0 || uid == ::geteuid() ||
         std::find(others.begin(), others.end(), uid) != others.end();
}

bool UidRules::is_new_refusal(uid_t uid) {
  constexpr std::size_t kMost = 64;
  bool const is_known = std::find(refused_.begin(), refused_.end(), uid) != refused_.end();
  if (is_known || refused_.size() >= kMost) {
    return false;
  }
  refused_.push_back(uid);
  return true;
}

}  // namespace lastcall::ipc
