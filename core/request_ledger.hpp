// The table of requests in flight, and their cancellation tree.
//
// Invariants:
//  1. State only rises: live < stopped < killed. Each call says whether it was the first.
//  2. A request is counted once: one cancel whatever arrives twice, one outcome.
//  3. A parent's cancel reaches its children in link order; a child that is linked to a stopped or
//     killed parent gets the same at once; an ended child is unlinked. Work lists, no recursion:
//     the tree is made by users.
//  4. Cancels are state, not queued bytes: a peer's lines are produced from here as its socket
//  takes
//     them, so a slow reader costs nothing but its place in a list.
//  5. A peer touches only its own requests.
//
// Owned by the core's thread. Source: specification, 'Request context': Dynamo's
// AsyncEngineContext made stricter (state never falls, late links are retroactive, children are
// unlinked).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/cut_requests.hpp"
#include "core/endpoint_tracker.hpp"
#include "core/event.hpp"
#include "core/mixer.hpp"

namespace lastcall::lifecycle {

enum class RequestState : std::uint8_t { live, stopped, killed };

/// Where a request stands with admission: it runs, it waits for its place, or it was cancelled
/// while it waited.
enum class Standing : std::uint8_t { running, waiting, withdrawn };

using AdmissionTicket = std::uint32_t;
inline constexpr AdmissionTicket kNoTicket = 0xffffffffU;

/// A group of ids that get the same cancel; views are valid until the ledger's next change.
struct CancelBatch {
  CancelMode mode = CancelMode::stop;
  CancelReason reason = CancelReason::control;
  std::vector<std::string_view> ids;
};

/// One request, as listings show it.
struct RequestView {
  PeerId peer = 0;
  std::string_view id;
  std::string_view root;
  std::string_view endpoint;
  std::string_view model;
  RequestState state = RequestState::live;
  std::optional<CancelReason> reason;
  Instant began_at;
  bool late = false;
  bool child = false;
  Standing standing = Standing::running;
};

class RequestLedger {
 public:
  /// A live request, until it is removed.
  using Index = std::uint32_t;

  struct Settled {
    EndpointSlot slot = 0;
    std::uint32_t model = 0;
    Outcome outcome = Outcome::completed;
    Duration elapsed{};
    bool counted = false;  // as a user's request: sub-requests are not
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
  /// It ended after it was cancelled.
  struct CutOff {
    std::string id;
    Cut cut;
  };
  enum class Begin : std::uint8_t { begun, adopted, duplicate, own_parent };

  RequestLedger() = default;
  RequestLedger(RequestLedger const& other);
  RequestLedger& operator=(RequestLedger const&) = delete;

  // --- peers ---
  void peer_connected(PeerId peer);
  /// Its requests stay in flight until it is back or lost, save those that were never admitted:
  /// they ask again.
  void peer_disconnected(Instant now, PeerId peer);
  /// All that it still has becomes `lost`.
  void peer_lost(Instant now, PeerId peer);
  /// The same for its requests alone: the peer itself stays known.
  void lose_requests(Instant now, PeerId peer);

  // --- requests ---
  /// A resumed request of a peer that went away is adopted: it moves to this peer and `slot`. One
  /// that belongs to a request which is over, by `cut`, gets its cancel and is counted with it.
  Begin begin(Instant now, RequestBegun const& request, EndpointSlot slot, bool late,
              std::optional<Cut> const& cut = std::nullopt);
  /// It moves here from a connection that went away, as resumed, or asking again for an admission
  /// that it has and did not hear of.
  bool is_adoptable(RequestBegun const& request) const { return orphan_of(request) != kNone; }
  /// It is part of a live request that runs: its parent, or the root that it names.
  bool is_part(RequestBegun const& request) const;
  /// Its parent, or the root that it names, is live and was not cancelled.
  bool is_wanted(RequestBegun const& request) const;
  /// The last that begun.
  Index newest() const { return newest_; }
  /// False when the peer has no such live request.
  bool end(Instant now, PeerId peer, std::string_view id, Outcome outcome);
  bool confirm(Instant now, PeerId peer, std::string_view id);
  bool owns(PeerId peer, std::string_view id) const;

  // --- admission ---
  void hold(Index index, AdmissionTicket ticket, Standing standing);
  void admitted(Index index);
  void refuse(Instant now, Index index, RejectedReason why);
  /// The views are valid while it is in flight.
  RequestView at(Index index) const { return view(entries_[index], nullptr); }
  std::optional<AdmissionTicket> ticket_of(PeerId peer, std::string_view id) const;
  /// Its answer does not come in parts: its first byte is there when all of it is.
  bool answers_whole(PeerId peer, std::string_view id) const;

  // --- cancels; each returns how many requests it raised (live < stopped < killed) ---
  std::size_t cancel_id(Instant now, PeerId peer, std::string_view id, CancelMode mode,
                        CancelReason reason);
  /// That of every peer.
  std::size_t cancel_id(Instant now, std::string_view id, CancelMode mode, CancelReason reason);
  /// A user's request with all that belongs to it, or what `of` has of it.
  std::size_t cancel_root(Instant now, std::optional<PeerId> of, std::string_view root,
                          CancelMode mode, CancelReason reason);
  /// Every live request that `chosen` picks, in the order of their begin.
  std::size_t cancel_where(Instant now, std::function<bool(RequestView const&)> const& chosen,
                           CancelMode mode, CancelReason reason);
  std::size_t cancel_all(Instant now, CancelMode mode, CancelReason reason);
  /// Requests of endpoints for which `graceful` is false.
  std::size_t cancel_ungraceful(Instant now, EndpointTracker const& endpoints, CancelMode mode,
                                CancelReason reason);
  /// Cancels that wait for this peer, at most `max_ids`; they count as handed over.
  CancelBatch take_cancels(PeerId peer, std::size_t max_ids);

  // --- figures ---
  std::size_t in_flight() const { return live_; }
  /// Those of them that wait for admission.
  std::size_t waiting() const { return waiting_; }
  /// Users' requests: sub-requests of a live parent do not count again.
  std::size_t roots_in_flight() const { return roots_; }
  /// Users' requests that ever began; never falls.
  std::uint64_t roots_begun() const { return roots_begun_; }
  std::size_t of_peer(PeerId peer) const;
  /// Cancels that no end or cancel.done has confirmed yet.
  std::size_t unconfirmed() const { return unconfirmed_; }
  /// Of them, those that were told then or earlier. Walks over all requests.
  std::size_t unconfirmed_since(Instant then) const;
  std::optional<Instant> oldest() const;
  void for_each(std::function<void(RequestView const&)> const& visit,
                EndpointTracker const& endpoints) const;
  /// A request named it.
  bool knows_model(std::string_view model) const;
  std::string const& model_name(std::uint32_t model) const { return models_[model]; }

  // --- what happened in the last calls, drained by the owner ---
  std::vector<Settled> settled;
  std::vector<Cancelled> cancelled;
  std::vector<Confirmed> confirmed;
  /// Peers for which new cancels wait.
  std::vector<PeerId> ready;
  /// Endpoint slots that were left by an adopted request (it entered another one).
  std::vector<EndpointSlot> moved_from;
  /// Tickets of waiters that were cancelled.
  std::vector<AdmissionTicket> withdrawn;
  std::vector<CutOff> cut_off;

 private:
  static constexpr Index kNone = 0xffffffffU;

  struct Entry {
    PeerId peer = 0;
    std::string id;
    std::string root;       // empty: the same as id
    std::uint64_t way = 0;  // of RequestBegun, where the ingress relays it
    Instant began_at;
    Instant cancelled_at;
    EndpointSlot slot = 0;
    std::uint32_t model = 0;
    std::uint32_t generation = 0;
    AdmissionTicket ticket = kNoTicket;
    Index parent = kNone;
    Index first_child = kNone;
    Index last_child = kNone;
    Index next_sibling = kNone;
    Index previous_sibling = kNone;
    Index older = kNone;  // all live entries, in the order of their begin
    Index newer = kNone;
    Index next_of_root = kNone;  // of those that name the same one
    Index previous_of_root = kNone;
    RequestState state = RequestState::live;
    CancelReason reason = CancelReason::control;
    Standing standing = Standing::running;
    std::optional<bool> stream;
    bool asked = false;  // for admission
    bool used = false;
    bool late = false;
    bool confirmed = false;
    bool queued = false;     // its cancel waits for the peer's socket
    bool counted = false;    // begun as a user's request
    bool from_tier = false;  // a tier above relays it: the user is a client of that one
  };
  struct Key {
    PeerId peer;
    std::string_view id;
    bool operator==(Key const&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(Key const& key) const;
  };
  struct OfRoot {
    Index first;
    Index last;
  };
  struct Waiting {
    Index index;
    std::uint32_t generation;
  };
  struct Peer {
    bool connected = true;
    std::size_t requests = 0;
    std::deque<Waiting> cancels;
  };

  Index find(PeerId peer, std::string_view id) const;
  Index find_relayed(RequestBegun const& request, std::string_view id) const;
  Index find_parent(RequestBegun const& request, std::string_view id) const;
  template <typename Chosen>
  Index newest_of(std::string_view id, Chosen const& chosen) const;
  Index find_orphan(std::string_view id) const;
  Index orphan_of(RequestBegun const& request) const;
  Index parent_of(RequestBegun const& request) const;
  Index allocate();
  void adopt(Index index, PeerId peer, EndpointSlot slot);
  std::vector<Index> everywhere(std::string_view id) const;
  void enter_root(Index index);
  void leave_root(Index index);
  void link(Index parent, Index child);
  void unlink(Index child);
  bool rise(Instant now, Entry& entry, CancelMode mode, CancelReason reason);
  std::size_t rise_tree(Instant now, Index index, CancelMode mode, CancelReason reason);
  void queue_cancel(Index index);
  template <typename Chosen>
  std::size_t cancel_matching(Instant now, Chosen const& chosen, CancelMode mode,
                              CancelReason reason);
  void settle_confirm(Instant now, Entry& entry);
  void remove(Instant now, Index index, Outcome outcome);
  static std::string_view root_of(Entry const& entry);
  std::uint32_t intern_model(std::string_view model);
  RequestView view(Entry const& entry, EndpointTracker const* endpoints) const;

  std::deque<Entry> entries_;  // stable: index keys are views of ids
  std::vector<Index> free_;
  std::unordered_map<Key, Index, KeyHash> index_;
  std::unordered_map<std::string_view, OfRoot> by_root_;  // keys: views of the first one's root
  std::unordered_map<PeerId, Peer> peers_;
  std::vector<std::string> models_;
  std::vector<Index> work_;
  Index oldest_ = kNone;
  Index newest_ = kNone;
  std::size_t live_ = 0;
  std::size_t waiting_ = 0;
  std::size_t roots_ = 0;
  std::uint64_t roots_begun_ = 0;
  std::size_t unconfirmed_ = 0;
};

/// Requests and endpoints as a sum; a peer counts by its rank.
std::uint64_t fingerprint_of_requests(RequestLedger const& ledger, EndpointTracker const& endpoints,
                                      std::map<PeerId, std::uint32_t> const& rank, Instant now);

}  // namespace lastcall::lifecycle
