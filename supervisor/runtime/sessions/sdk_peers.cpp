#include "supervisor/runtime/sessions/sdk_peers.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lastcall::runtime {

void SdkPeers::add(Row row) {
  ipc::PeerId const peer = row.peer;
  peers_.emplace(peer, std::move(row));
}

bool SdkPeers::disconnect(ipc::PeerId peer) {
  auto const found = peers_.find(peer);
  return found != peers_.end() && std::exchange(found->second.connected, false);
}

bool SdkPeers::is_critical(ipc::PeerId peer) const {
  auto const found = peers_.find(peer);
  return found != peers_.end() && found->second.critical;
}

std::vector<ipc::PeerId> SdkPeers::connected() const {
  std::vector<ipc::PeerId> ids;
  for (auto const& [peer, row] : peers_) {
    if (row.connected) {
      ids.push_back(peer);
    }
  }
  return ids;
}

std::vector<ipc::PeerId> SdkPeers::self_registering() const {
  std::vector<ipc::PeerId> ids;
  for (auto const& [peer, row] : peers_) {
    if (row.connected && row.registers_itself) {
      ids.push_back(peer);
    }
  }
  return ids;
}

std::vector<ipc::PeerId> SdkPeers::replaced() const {
  std::vector<ipc::PeerId> ids;
  for (auto gone = peers_.begin(); gone != peers_.end(); ++gone) {
    Row const& row = gone->second;
    bool const is_known = row.process != 0 || !row.name.empty();
    auto const is_its_next = [&row](auto const& later) {
      Row const& next = later.second;
      return next.connected && next.name == row.name && next.process == row.process;
    };
    if (!row.connected && is_known && std::any_of(std::next(gone), peers_.end(), is_its_next)) {
      ids.push_back(row.peer);
    }
  }
  return ids;
}

std::vector<SdkPeers::Row> SdkPeers::rows() const {
  std::vector<Row> rows;
  std::transform(peers_.begin(), peers_.end(), std::back_inserter(rows),
                 [](auto const& entry) { return entry.second; });
  return rows;
}

}  // namespace lastcall::runtime
