// The connections of SDKs inside the engine: who they are and what they said of themselves.
//
// Invariants:
//  1. A connection that has ended stays, as not connected, until it is forgotten: its process may
//     come back on another one.
//  2. Ids rise, so of two connections of a process the later one has the higher id.
//
// Thread rule: the loop's thread. Source: docs/ipc.md.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

#include "ipc/server.hpp"

namespace lastcall::runtime {

class SdkPeers {
 public:
  struct Row {
    ipc::PeerId peer = 0;
    std::string name;
    std::string sdk;
    bool critical = false;
    bool registers_itself = false;
    bool has_doubted = false;
    ino_t process = 0;
    bool connected = true;
    bool is_crowd = false;  // it was notified that it has too many requests
  };

  void add(Row row);
  /// What is known of a peer that was added.
  Row& of(ipc::PeerId peer) { return peers_[peer]; }
  /// Returns whether it was connected until now.
  bool disconnect(ipc::PeerId peer);
  void erase(ipc::PeerId peer) { peers_.erase(peer); }

  std::map<ipc::PeerId, Row> const& all() const { return peers_; }
  bool is_critical(ipc::PeerId peer) const;
  std::vector<ipc::PeerId> connected() const;
  std::vector<ipc::PeerId> self_registering() const;
  /// The connections that have ended and whose process has connected again: under the same name,
  /// and from the same process if the kernel reports it.
  std::vector<ipc::PeerId> replaced() const;
  /// Includes peers that have disconnected and may come back.
  std::vector<Row> rows() const;

 private:
  std::map<ipc::PeerId, Row> peers_;
};

}  // namespace lastcall::runtime
