// The peers that a server knows, from their connect until they are forgotten.
//
// Rules:
//  1. A peer is looked up by id at each step, because a callback may have closed or forgotten it.
//  2. A peer whose connection has ended stays until it is forgotten, so that the end of its process
//     is still reported.
//
// Thread rule: the thread that runs the io_context.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ipc/cancel_lines.hpp"
#include "ipc/server.hpp"
#include "ipc/session.hpp"

namespace lastcall::ipc {

enum class Stage : std::uint8_t { greeting, welcomed, refused };

/// Identifies the process that made a connection, as far as the kernel reports it, and its socket.
struct Origin {
  bool is_admin{};
  pid_t pid{};
  ino_t process{};
  friend auto operator<=>(Origin const&, Origin const&) = default;
};

struct Peer {
  Origin origin() const { return {is_admin, info.pid, info.process}; }

  PeerId id{};
  bool is_admin{};  // it connected to the admin socket
  Stage stage{Stage::greeting};
  PeerInfo info;
  Seq hello_seq;
  std::shared_ptr<Session> session;
  CancelLines cancels;
  bool process_is_gone{};
  bool is_extra{};  // beyond max_connections, until its hello shows that it is the shim
};

class Peers {
 public:
  static constexpr PeerId kAboveAll = std::numeric_limits<PeerId>::max();

  /// An id that no peer had before.
  PeerId new_id() { return ++last_id_; }
  void add(std::shared_ptr<Peer> peer);
  void erase(PeerId id) { peers_.erase(id); }

  std::shared_ptr<Peer> find(PeerId id) const;
  /// A welcomed peer whose connection is open.
  std::shared_ptr<Peer> find_open(PeerId id) const;
  PeerInfo const* info(PeerId id) const;
  /// The connected peers of this origin with ids below `below`, in the order of their connects. All
  /// processes in sibling PID namespaces have pid 0; where `process` is not known, peers of others
  /// are among them.
  std::vector<PeerId> of_process(Origin const& origin, PeerId below = kAboveAll) const;
  bool have_output() const;

  /// Calls `visit` with the session of each peer; it neither adds nor erases any.
  template <typename Visit>
  void each_session(Visit&& visit) const {
    for (auto const& [id, peer] : peers_) {
      visit(*peer->session);
    }
  }

 private:
  std::unordered_map<PeerId, std::shared_ptr<Peer>> peers_;
  PeerId last_id_{};
};

}  // namespace lastcall::ipc
