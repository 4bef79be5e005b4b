// A read-only view of the requests in flight: which peer has which, how many there are, and which
// one a new request would be a part of.
//
// It changes nothing; request_ledger.hpp changes them. Owned by the core's thread. Source:
// specification, 'Request context'.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/endpoint_tracker.hpp"
#include "core/event.hpp"
#include "core/model_names.hpp"
#include "core/request_slab.hpp"

namespace lastcall::lifecycle {

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
  /// The live request that it is a part of; empty for a user's request.
  std::string_view parent;
  Standing standing = Standing::running;
};

class RequestBook {
 public:
  /// A reference to a live request, valid until it is removed.
  using Index = RequestEntry::Index;

  // --- figures ---
  std::size_t in_flight() const { return slab_.size(); }
  /// The requests that wait for admission.
  std::size_t waiting() const { return counts_.waiting; }
  /// Users' requests: sub-requests of a live parent do not count again.
  std::size_t roots_in_flight() const { return counts_.roots; }
  /// Users' requests that ever began; never falls.
  std::uint64_t roots_begun() const { return counts_.roots_begun; }
  std::size_t of_peer(PeerId peer) const;
  /// Cancels that no end or cancel.done has confirmed yet.
  std::size_t unconfirmed() const { return counts_.unconfirmed; }
  /// The number of those that were notified at that time or earlier. Walks over all requests.
  std::size_t unconfirmed_since(Instant then) const;
  /// Walks over all requests if some were announced with an age.
  std::optional<Instant> oldest() const;

  // --- one of them ---
  bool owns(PeerId peer, std::string_view id) const { return slab_.find(peer, id) != kNone; }
  /// The views are valid while it is in flight.
  RequestView at(Index index) const { return view(index, nullptr); }
  /// The request that began last.
  Index newest() const { return slab_.newest(); }
  std::optional<AdmissionTicket> ticket_of(PeerId peer, std::string_view id) const;
  /// Whether its answer is not a stream, so that the first byte comes with the whole answer.
  bool answers_whole(PeerId peer, std::string_view id) const;
  void for_each(std::function<void(RequestView const&)> const& visit,
                EndpointTracker const& endpoints) const;
  ModelNames const& models() const { return models_; }

  // --- one that is to begin ---
  /// Whether the request moves here from a connection that went away: either it is resumed, or it
  /// asks for admission again because it never received the answer.
  bool is_adoptable(RequestBegun const& request) const { return orphan_of(request) != kNone; }
  /// Whether it is a part of a live request that runs: its parent, or the root that it names.
  bool is_part(RequestBegun const& request) const;
  /// Whether its parent, or the root that it names, is live and was not cancelled.
  bool is_wanted(RequestBegun const& request) const;

 protected:
  static constexpr Index kNone = RequestEntry::kNone;

  struct Waiting {
    Index index;
    std::uint32_t generation;
  };
  struct Peer {
    bool connected = true;
    std::size_t requests = 0;
    std::deque<Waiting> cancels;
  };
  struct Counts {
    std::size_t waiting = 0;
    std::size_t roots = 0;
    std::uint64_t roots_begun = 0;
    std::size_t unconfirmed = 0;
    std::size_t with_age = 0;  // those that ran before they were announced
  };

  /// The newest request of that id at the engine's connections, or only at those that are `away`.
  Index newest_of(std::string_view id, bool away) const;
  /// The ingress's request of that id, unless the request is known to have come another way.
  Index find_relayed(RequestBegun const& request, std::string_view id) const;
  Index find_parent(RequestBegun const& request, std::string_view id) const;
  Index parent_of(RequestBegun const& request) const;
  /// The live request that it is part of, by its parent or by the root that it names.
  Index whole_of(RequestBegun const& request) const;
  Index orphan_of(RequestBegun const& request) const;
  RequestView view(Index index, EndpointTracker const* endpoints) const;

  RequestSlab slab_;
  std::unordered_map<PeerId, Peer> peers_;
  ModelNames models_;
  Counts counts_;
};

/// The fingerprint is a sum over the requests and endpoints, in which a peer counts by its rank.
std::uint64_t fingerprint_of_requests(RequestBook const& book, EndpointTracker const& endpoints,
                                      std::map<PeerId, std::uint32_t> const& rank, Instant now);

}  // namespace lastcall::lifecycle
