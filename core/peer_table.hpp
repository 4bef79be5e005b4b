// The SDK peers: which are connected, which may come back, and which still have to clean up.
//
// Rules:
//  1. A peer that went away may come back on another connection; it is lost when it does not in
//     time, at once when its process is gone.
//  2. A peer is back when the live requests that its hello promised were announced again.
//  3. A peer that was asked to clean up and goes away before its cleanup.done is waited for a
//     moment, and then counts as unclean: it is unknown how far it came.
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
  enum class Cleanup : std::uint8_t { none, asked, left };  // left: it went away before it was done
  struct Peer {
    std::string name;
    bool critical = false;
    bool connected = true;
    bool source = false;  // it reports requests
    bool watched = false;
    std::uint32_t unannounced = 0;  // live requests that its hello promised and that did not come
    Cleanup cleanup = Cleanup::none;
    std::optional<Instant> back_by;  // for its cleanup.done
    std::optional<Instant> lost_at;
  };
  /// The decisions of time about a peer.
  enum class Due : std::uint8_t { none, lost, requests_lost };
  struct Decided {
    Due due = Due::none;
    PeerId peer = 0;
  };

  void connected(PeerConnected const& connected);
  /// False: it is not known.
  bool disconnected(Instant now, PeerId peer, Duration reconnect_window);
  void became_source(PeerId peer);
  void announced_again(PeerId peer);
  /// It is gone for good. Absent: it is not known.
  std::optional<Peer> remove(PeerId peer);
  /// The next of what is due now, until there is none; an engine that has exited comes back for no
  /// cleanup.
  Decided next_due(Instant now, bool engine_has_exited);
  std::optional<Instant> next_deadline() const;

  // --- phase 3 ---
  /// A cleanup begins: what an earlier one left is of no interest.
  void forget_unclean() { left_unclean_.clear(); }
  void ask_to_clean_up();
  /// It connects in the middle of that. If it had been there before, its present report counts.
  void ask_late(PeerConnected const& connected);
  void cleaned_up(PeerId peer);
  bool are_cleaning_up() const;
  /// "'a' and 1 more disconnected before cleanup.done"; empty: all were clean.
  std::string unclean_text() const;

  bool knows(PeerId peer) const { return peers_.count(peer) > 0; }
  /// A connected peer goes by that name.
  bool has_connected(std::string_view name) const;
  bool has_connected() const;
  std::uint32_t connected_count() const;
  /// Connected ones that report requests.
  std::uint32_t sources() const;
  /// Any that does, or did before its connection ended.
  bool has_source() const;
  /// Connected ones of which everything was announced again.
  std::uint32_t returned() const;
  std::map<PeerId, Peer> const& all() const { return peers_; }

  void fingerprint(Mixer& m) const;

 private:
  void give_up_cleanup(Peer& peer);

  std::map<PeerId, Peer> peers_;
  std::vector<std::string> left_unclean_;  // names
};

}  // namespace lastcall::lifecycle
