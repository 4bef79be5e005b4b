// Decides which peer gets a place: each process has a share, and a shim still gets in when every
// place is taken.
#include <algorithm>

#include "ipc/server_impl.hpp"

namespace lastcall::ipc {
namespace {

/// How many connections beyond the limit are kept in case their hello shows a shim. A hello follows
/// a connect at once, and the loop accepts 16 connections per turn: with this number a crowd cannot
/// push a shim out before its hello was read.
constexpr std::size_t kMostExtra = 64;

}  // namespace

std::size_t Server::Impl::limit(bool is_admin) const {
  return is_admin ? options_.max_admin_connections : options_.max_connections;
}

/// Empty if the peer gets a place, perhaps only an extra one.
std::string_view Server::Impl::why_no_place(bool is_admin, pid_t pid) const {
  if (is_admin && connections_[1] >= limit(true)) {
    return "too many connections";
  }
  auto const held = held_by_.find({is_admin, pid});
  bool const is_known = pid != 0;  // processes in sibling PID namespaces all have 0
  std::size_t const share = is_admin ? options_.max_admin_of_process : options_.max_of_process;
  return is_known && held != held_by_.end() && held->second >= share
             ? "too many connections of this process"
             : "";
}

void Server::Impl::take_place(Peer& peer) {
  ++held_by_[{peer.is_admin, peer.info.pid}];
  std::size_t& taken = connections_[peer.is_admin ? 1 : 0];
  if (taken < limit(peer.is_admin)) {
    ++taken;
    return;
  }
  peer.is_extra = true;
  extra_.push_back(peer.id);
  make_room_for_extra();
}

void Server::Impl::give_place_back(Peer const& peer) {
  auto const held = held_by_.find({peer.is_admin, peer.info.pid});
  if (held != held_by_.end() && --held->second == 0) {
    held_by_.erase(held);
  }
  if (!peer.is_extra) {
    --connections_[peer.is_admin ? 1 : 0];
  }
}

void Server::Impl::make_room_for_extra() {
  std::erase_if(extra_, [this](PeerId id) {
    auto const peer = find(id);
    return !peer || peer->stage != Stage::greeting || !peer->session->is_open();
  });
  if (extra_.size() <= kMostExtra) {
    return;
  }
  auto const oldest = find(extra_.front());
  extra_.pop_front();
  oldest->stage = Stage::refused;
  observer_.error_sent(ErrorCode::busy);
  oldest->session->dismiss(error_line(std::nullopt, ErrorCode::busy, "too many connections"));
}

}  // namespace lastcall::ipc
