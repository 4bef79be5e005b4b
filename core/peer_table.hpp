// The SDK peers: which are connected, which may come back, and which still have to clean up.
//
// Rules:
//  1. A peer that disconnected may come back on another connection. It is lost if it does not in
//     time, or at once if its process is gone.
//  2. A peer is back when it has announced again the live requests that its hello promised.
//  3. If a peer that had to clean up disconnects before its cleanup.done, phase 3 waits for it for
//     a moment; then it counts as unclean, because it is unknown how far it came.
//
// Owned by the core's thread. Source: specification, 'Peers'.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/event.hpp"
#include "core/mixer.hpp"
#include "core/settings.hpp"

namespace lastcall::lifecycle {

class PeerTable {
 public:
  enum class Cleanup : std::uint8_t { none, asked, left };  // left: without a cleanup.done
  struct Peer {
    std::string name;
    bool critical = false;
    bool connected = true;
    bool source = false;  // it reports requests
    bool watched = false;
    std::uint32_t unannounced = 0;  // live requests that its hello promised and that are missing
    Cleanup cleanup = Cleanup::none;
    std::optional<Instant> back_by;  // until then it may come back for its cleanup.done
    std::optional<Instant> lost_at;
  };
  /// The decisions about a peer that only time makes.
  enum class Due : std::uint8_t { none, lost, requests_lost };
  struct Decided {
    Due due = Due::none;
    PeerId peer = 0;
  };

  void connected(PeerConnected const& connected);
  /// Returns false if it is not known.
  bool disconnected(Instant now, PeerId peer, Duration reconnect_window);
  void became_source(PeerId peer);
  void announced_again(PeerId peer);
  /// The peer is gone for good. The result is absent if the peer is not known.
  std::optional<Peer> remove(PeerId peer);
  /// Returns the next decision that is due, until there is none; a peer of an engine that has
  /// exited does not come back for a cleanup.
  Decided next_due(Instant now, bool engine_has_exited);
  std::optional<Instant> next_deadline() const;

  // --- phase 3 ---
  /// A cleanup begins, and results of an earlier one are dropped.
  void forget_unclean() { left_unclean_.clear(); }
  void ask_to_clean_up();
  /// A peer connects during the cleanup. If it was connected before, only its present report
  /// counts.
  void ask_late(PeerConnected const& connected);
  void cleaned_up(PeerId peer);
  bool are_cleaning_up() const;
  /// "'a' and 1 more disconnected before cleanup.done"; empty if all were clean.
  std::string unclean_text() const;

  bool knows(PeerId peer) const { return peers_.count(peer) > 0; }
  /// Whether a connected peer has that name.
  bool has_connected(std::string_view name) const;
  bool has_connected() const;
  std::uint32_t connected_count() const;
  /// The number of connected peers that report requests.
  std::uint32_t sources() const;
  /// Whether any peer does, or did before its connection ended.
  bool has_source() const;
  /// The number of connected peers that have announced everything again.
  std::uint32_t returned() const;
  std::map<PeerId, Peer> const& all() const { return peers_; }

  void fingerprint(Mixer& m) const;

 private:
  void give_up_cleanup(Peer& peer);

  std::map<PeerId, Peer> peers_;
  std::vector<std::string> left_unclean_;  // names
};

}  // namespace lastcall::lifecycle
