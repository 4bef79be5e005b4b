#include "core/peer_table.hpp"

#include <algorithm>
#include <utility>

namespace lastcall::lifecycle {

void PeerTable::connected(PeerConnected const& connected) {
  peers_[connected.peer] = Peer{.name = connected.name,
                                .critical = connected.critical,
                                .watched = connected.watched,
                                .unannounced = connected.live};
}

bool PeerTable::disconnected(Instant now, PeerId peer, Duration reconnect_window) {
  auto const found = peers_.find(peer);
  if (found == peers_.end()) {
    return false;
  }
  Peer& gone = found->second;
  gone.connected = false;
  if (gone.cleanup != Cleanup::none) {
    gone.cleanup = Cleanup::left;
    gone.back_by = now + std::min(kCleanupReturn, reconnect_window);
  }
  gone.lost_at = now + reconnect_window;
  return true;
}

void PeerTable::became_source(PeerId peer) {
  if (auto const found = peers_.find(peer); found != peers_.end()) {
    found->second.source = true;
  }
}

void PeerTable::announced_again(PeerId peer) {
  if (auto const found = peers_.find(peer); found != peers_.end()) {
    found->second.unannounced -= found->second.unannounced > 0 ? 1 : 0;
  }
}

std::optional<PeerTable::Peer> PeerTable::remove(PeerId peer) {
  auto const found = peers_.find(peer);
  if (found == peers_.end()) {
    return std::nullopt;
  }
  give_up_cleanup(found->second);
  Peer gone = std::move(found->second);
  peers_.erase(found);
  return gone;
}

PeerTable::Decided PeerTable::next_due(Instant now, bool engine_has_exited) {
  for (auto& [id, peer] : peers_) {
    if (peer.back_by && (now >= *peer.back_by || engine_has_exited)) {
      give_up_cleanup(peer);
    }
    if (peer.lost_at && now >= *peer.lost_at) {
      peer.lost_at.reset();
      // The process of a critical peer is still worth watching.
      bool const is_kept = peer.critical && peer.watched;
      return {is_kept ? Due::requests_lost : Due::lost, id};
    }
  }
  return {};
}

std::optional<Instant> PeerTable::next_deadline() const {
  std::optional<Instant> at;
  for (auto const& [id, peer] : peers_) {
    at = earlier_of(at, earlier_of(peer.lost_at, peer.back_by));
  }
  return at;
}

void PeerTable::ask_to_clean_up() {
  for (auto& [id, peer] : peers_) {
    peer.cleanup = peer.connected ? Cleanup::asked : Cleanup::none;
  }
}

void PeerTable::ask_late(PeerConnected const& connected) {
  auto const away = std::find_if(peers_.begin(), peers_.end(), [&](auto const& entry) {
    return entry.second.back_by && entry.second.name == connected.name;
  });
  if (away != peers_.end()) {
    away->second.back_by.reset();
    away->second.cleanup = Cleanup::none;
  } else if (auto const unclean =
                 std::find(left_unclean_.begin(), left_unclean_.end(), connected.name);
             unclean != left_unclean_.end()) {
    left_unclean_.erase(unclean);
  }
  peers_[connected.peer].cleanup = Cleanup::asked;
}

void PeerTable::cleaned_up(PeerId peer) {
  if (auto const found = peers_.find(peer); found != peers_.end()) {
    found->second.cleanup = Cleanup::none;
  }
}

bool PeerTable::are_cleaning_up() const {
  return std::any_of(peers_.begin(), peers_.end(),
                     [](auto const& entry) { return entry.second.cleanup != Cleanup::none; });
}

std::string PeerTable::unclean_text() const {
  if (left_unclean_.empty()) {
    return {};
  }
  std::size_t const others = left_unclean_.size() - 1;
  return "'" + left_unclean_.front() + "'" +
         (others > 0 ? " and " + std::to_string(others) + " more" : "") +
         " disconnected before cleanup.done";
}

bool PeerTable::has_connected(std::string_view name) const {
  return std::any_of(peers_.begin(), peers_.end(), [&](auto const& entry) {
    return entry.second.connected && entry.second.name == name;
  });
}

bool PeerTable::has_connected() const {
  return std::any_of(peers_.begin(), peers_.end(),
                     [](auto const& entry) { return entry.second.connected; });
}

std::uint32_t PeerTable::connected_count() const {
  return static_cast<std::uint32_t>(std::count_if(
      peers_.begin(), peers_.end(), [](auto const& entry) { return entry.second.connected; }));
}

std::uint32_t PeerTable::sources() const {
  return static_cast<std::uint32_t>(std::count_if(
      peers_.begin(), peers_.end(),
      [](auto const& entry) { return entry.second.connected && entry.second.source; }));
}

bool PeerTable::has_source() const {
  return std::any_of(peers_.begin(), peers_.end(),
                     [](auto const& entry) { return entry.second.source; });
}

std::uint32_t PeerTable::returned() const {
  return static_cast<std::uint32_t>(std::count_if(
      peers_.begin(), peers_.end(),
      [](auto const& entry) { return entry.second.connected && entry.second.unannounced == 0; }));
}

void PeerTable::fingerprint(Mixer& m) const {
  for (auto const& [id, peer] : peers_) {
    m.all(peer.critical, peer.connected, peer.source, peer.watched, peer.cleanup, peer.back_by,
          peer.unannounced, peer.lost_at);
  }
}

void PeerTable::give_up_cleanup(Peer& peer) {
  peer.back_by.reset();
  if (std::exchange(peer.cleanup, Cleanup::none) != Cleanup::none) {
    left_unclean_.push_back(peer.name);
  }
}

}  // namespace lastcall::lifecycle
