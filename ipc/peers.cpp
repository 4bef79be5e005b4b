#include "ipc/peers.hpp"

#include <algorithm>

namespace lastcall::ipc {
namespace {

bool may_be_one(Origin const& one, Origin const& other) {
  bool const are_told_apart = one.process != 0 && other.process != 0;
  return one.is_admin == other.is_admin && one.pid == other.pid &&
         (one.process == other.process || !are_told_apart);
}

}  // namespace

void Peers::add(std::shared_ptr<Peer> peer) {
  PeerId const id = peer->id;
  peers_.emplace(id, std::move(peer));
}

std::shared_ptr<Peer> Peers::find(PeerId id) const {
  auto const found = peers_.find(id);
  return found == peers_.end() ? nullptr : found->second;
}

std::shared_ptr<Peer> Peers::find_open(PeerId id) const {
  auto peer = find(id);
  return peer && peer->session->is_open() && peer->stage == Stage::welcomed ? peer : nullptr;
}

PeerInfo const* Peers::info(PeerId id) const {
  auto const peer = find(id);
  return peer && peer->stage == Stage::welcomed ? &peer->info : nullptr;
}

std::vector<PeerId> Peers::of_process(Origin const& origin, PeerId below) const {
  std::vector<PeerId> chosen;
  for (auto const& [id, peer] : peers_) {
    if (id < below && peer->info.connected && may_be_one(peer->origin(), origin)) {
      chosen.push_back(id);
    }
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

bool Peers::have_output() const {
  return std::any_of(peers_.begin(), peers_.end(),
                     [](auto const& entry) { return entry.second->session->output().has_any(); });
}

}  // namespace lastcall::ipc
