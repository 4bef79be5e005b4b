// The table of requests in flight, and their cancellation tree.
//
// Invariants:
//  1. State only rises: live < stopped < killed. Each call returns whether it raised the state.
//  2. A request is counted once: one cancel, whatever arrives twice, and one outcome.
//  3. A parent's cancel reaches its children in link order; a child that is linked to a stopped or
//     killed parent gets the same at once; an ended child is unlinked. Work lists replace
//     recursion, because users make the tree.
//  4. Cancels are state, not queued bytes: a peer's lines are produced from here as its socket
//     accepts them, so a slow reader costs only its place in a list.
//  5. A peer touches only its own requests.
//
// Owned by the core's thread. Source: specification, 'Request context': Dynamo's
// AsyncEngineContext made stricter (state never falls, late links are retroactive, children are
// unlinked).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cut_requests.hpp"
#include "core/request_book.hpp"

namespace lastcall::lifecycle {

/// A group of ids that get the same cancel; views are valid until the ledger's next change.
struct CancelBatch {
  CancelMode mode = CancelMode::stop;
  CancelReason reason = CancelReason::control;
  std::vector<std::string_view> ids;
};

/// The effects of the ledger's last calls, which its owner drains.
struct LedgerNews {
  struct Settled {
    EndpointSlot slot = 0;
    std::uint32_t model = 0;
    Outcome outcome = Outcome::completed;
    Duration elapsed{};
    bool counted = false;  // as a user's request; sub-requests are not counted
    bool from_tier = false;
    std::optional<RejectedReason> rejected;
    AdmissionTicket ticket = kNoTicket;  // the place it had
  };
  struct Cancelled {
    EndpointSlot slot = 0;
    std::uint32_t model = 0;
    std::optional<bool> stream;
    CancelReason reason = CancelReason::control;
    bool from_tier = false;
  };
  struct Confirmed {
    CancelReason reason = CancelReason::control;
    Duration elapsed{};
  };
  /// Whether it ended after it was cancelled.
  struct CutOff {
    std::string id;
    Cut cut;
  };

  std::vector<Settled> settled;
  std::vector<Cancelled> cancelled;
  std::vector<Confirmed> confirmed;
  /// The peers for which new cancels wait.
  std::vector<PeerId> ready;
  /// Endpoint slots that were left by an adopted request (it entered another one).
  std::vector<EndpointSlot> moved_from;
  /// Tickets of waiters that were cancelled.
  std::vector<AdmissionTicket> withdrawn;
  std::vector<CutOff> cut_off;

  bool is_empty() const {
    return settled.empty() && cancelled.empty() && confirmed.empty() && ready.empty() &&
           moved_from.empty() && withdrawn.empty() && cut_off.empty();
  }
  void clear();
};

class RequestLedger : public RequestBook {
 public:
  enum class Begin : std::uint8_t { begun, adopted, duplicate, own_parent };

  // --- peers ---
  void peer_connected(PeerId peer) { peers_[peer].connected = true; }
  /// The peer's requests stay in flight until it is back or lost. Only requests that were never
  /// admitted do not, because they will be announced again.
  void peer_disconnected(Instant now, PeerId peer);
  /// All requests that the peer still has become `lost`.
  void peer_lost(Instant now, PeerId peer);
  /// The same for the peer's requests only: the peer itself stays known.
  void lose_requests(Instant now, PeerId peer);

  // --- requests ---
  /// A resumed request of a peer that went away is adopted: it moves to this peer and `slot`. A
  /// request that belongs to one that was cut is cancelled as `cut` states, and is counted with it.
  Begin begin(Instant now, RequestBegun const& request, EndpointSlot slot, bool late,
              std::optional<Cut> const& cut = std::nullopt);
  /// Returns false if the peer has no such live request.
  bool end(Instant now, PeerId peer, std::string_view id, Outcome outcome);
  bool confirm(Instant now, PeerId peer, std::string_view id);

  // --- admission ---
  void hold(Index index, AdmissionTicket ticket, Standing standing);
  void admitted(Index index);
  void refuse(Instant now, Index index, RejectedReason why);

  // --- cancels; each returns how many requests it raised (live < stopped < killed) ---
  std::size_t cancel_id(Instant now, PeerId peer, std::string_view id, CancelMode mode,
                        CancelReason reason);
  /// Cancels the request of this id at every peer.
  std::size_t cancel_id(Instant now, std::string_view id, CancelMode mode, CancelReason reason);
  /// Cancels a user's request with all its parts, or only with the parts that belong to the peer
  /// `of`.
  std::size_t cancel_root(Instant now, std::optional<PeerId> of, std::string_view root,
                          CancelMode mode, CancelReason reason);
  /// Cancels every live request that `chosen` picks, in the order in which they began.
  std::size_t cancel_where(Instant now, std::function<bool(RequestView const&)> const& chosen,
                           CancelMode mode, CancelReason reason);
  std::size_t cancel_all(Instant now, CancelMode mode, CancelReason reason);
  /// Cancels the requests of endpoints for which `graceful` is false.
  std::size_t cancel_ungraceful(Instant now, EndpointTracker const& endpoints, CancelMode mode,
                                CancelReason reason);
  /// Cancels that wait for this peer, at most `max_ids`; they count as handed over.
  CancelBatch take_cancels(PeerId peer, std::size_t max_ids);

  LedgerNews news;

 private:
  void adopt(Index index, PeerId peer, EndpointSlot slot);
  /// Links the request to its parent, or counts it as a user's request; if the parent was
  /// cancelled, the request gets the same cancel.
  void place(Instant now, Index index, Index parent, std::optional<Cut> const& cut);
  std::vector<Index> everywhere(std::string_view id) const;
  bool rise(Instant now, RequestEntry& entry, CancelMode mode, CancelReason reason);
  std::size_t rise_tree(Instant now, Index index, CancelMode mode, CancelReason reason);
  void queue_cancel(Index index);
  template <typename Chosen>
  std::size_t cancel_matching(Instant now, Chosen const& chosen, CancelMode mode,
                              CancelReason reason);
  void settle_confirm(Instant now, RequestEntry& entry);
  void remove(Instant now, Index index, Outcome outcome);

  std::vector<Index> work_;
};

}  // namespace lastcall::lifecycle
