#include "ipc/places.hpp"

namespace lastcall::ipc {
namespace {

/// How many connections beyond the limit are kept in case their hello shows a shim. A hello follows
/// a connect at once, and a listener accepts a few connections before others have their turn: with
/// this number a crowd hardly pushes a shim out before its hello was read. Where all that wait are
/// accepted together (for a process that has ended, and for a socket that is replaced), a shim may
/// be pushed out; it connects again.
constexpr std::size_t kMostExtra = 64;

}  // namespace

std::size_t Places::limit(bool is_admin) const {
  return is_admin ? limits_.max_admin_connections : limits_.max_connections;
}

std::string_view Places::why_none(bool is_admin, pid_t pid) const {
  if (is_admin && taken_[1] >= limit(true)) {
    return "too many connections";
  }
  auto const held = held_by_.find({is_admin, pid});
  bool const is_known = pid != 0;  // processes in sibling PID namespaces all have 0
  std::size_t const share = is_admin ? limits_.max_admin_of_process : limits_.max_of_process;
  return is_known && held != held_by_.end() && held->second >= share
             ? "too many connections of this process"
             : "";
}

bool Places::take(PeerId peer, bool is_admin, pid_t pid) {
  ++held_by_[{is_admin, pid}];
  std::size_t& taken = taken_[is_admin ? 1 : 0];
  if (taken < limit(is_admin)) {
    ++taken;
    return false;
  }
  extra_.push_back(peer);
  return true;
}

void Places::give_back(bool is_admin, pid_t pid, bool is_extra) {
  auto const held = held_by_.find({is_admin, pid});
  if (held != held_by_.end() && --held->second == 0) {
    held_by_.erase(held);
  }
  if (!is_extra) {
    --taken_[is_admin ? 1 : 0];
  }
}

std::optional<PeerId> Places::surplus(std::function<bool(PeerId)> const& needs_it) {
  std::erase_if(extra_, [&](PeerId peer) { return !needs_it(peer); });
  if (extra_.size() <= kMostExtra) {
    return std::nullopt;
  }
  PeerId const oldest = extra_.front();
  extra_.pop_front();
  return oldest;
}

}  // namespace lastcall::ipc
