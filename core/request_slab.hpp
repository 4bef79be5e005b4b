// The storage of the requests in flight: a slab of entries with its indexes.
//
// Invariants:
//  1. An entry keeps its place until it is erased; then the place is used again with another
//     generation.
//  2. Entries can be found by peer and id, by the root that they name, in the order in which they
//     began, and from their parent. All but the last are O(1), however much is in flight.
//  3. A user's request bears its root's name itself. Requests that name another one as their root
//     are in a list of that root, in the order in which they began. The list is beside the entries,
//     because few requests are in one.
//
// It knows nothing of what a cancel or an end means. Owned by the core's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/endpoint_tracker.hpp"
#include "core/event.hpp"

namespace lastcall::lifecycle {

enum class RequestState : std::uint8_t { live, stopped, killed };

/// The state of a request in admission: it runs, it waits for its place, or it was cancelled while
/// it waited.
enum class Standing : std::uint8_t { running, waiting, withdrawn };

using AdmissionTicket = std::uint32_t;
inline constexpr AdmissionTicket kNoTicket = 0xffffffffU;

struct RequestEntry {
  using Index = std::uint32_t;
  static constexpr Index kNone = 0xffffffffU;
  /// The entry's places in the tree and in the lists.
  struct Links {
    Index parent = kNone;
    Index first_child = kNone;
    Index last_child = kNone;
    Index next_sibling = kNone;
    Index previous_sibling = kNone;
    Index older = kNone;  // all live entries, in the order in which they began
    Index newer = kNone;
  };

  PeerId peer = 0;
  std::string id;
  std::uint64_t way = 0;  // RequestBegun::way, if the ingress relays it
  Instant began_at;
  Instant cancelled_at;
  EndpointSlot slot = 0;
  std::uint32_t model = 0;
  std::uint32_t generation = 0;
  AdmissionTicket ticket = kNoTicket;
  Links links;
  RequestState state = RequestState::live;
  CancelReason reason = CancelReason::control;
  Standing standing = Standing::running;
  std::optional<bool> stream;
  bool asked = false;  // for admission
  bool used = false;
  bool late = false;
  bool confirmed = false;
  bool queued = false;      // its cancel waits for the peer's socket
  bool counted = false;     // begun as a user's request
  bool has_age = false;     // it ran before it was announced
  bool part_moved = false;  // a part of it was handed off
  bool from_tier = false;   // a tier above relays it, so its user is a client of that tier

  bool is_cancelled() const { return state != RequestState::live; }
  CancelMode cancel_mode() const {
    return state == RequestState::killed ? CancelMode::kill : CancelMode::stop;
  }
};

class RequestSlab {
 public:
  using Index = RequestEntry::Index;
  static constexpr Index kNone = RequestEntry::kNone;

  RequestSlab() = default;
  /// Copies everything except the indexes, which read the entries; each copy has its own.
  RequestSlab(RequestSlab const& other);
  RequestSlab& operator=(RequestSlab const&) = delete;

  /// Makes a new entry of that name, the last one in the order of entries.
  Index insert(PeerId peer, std::string_view id, std::string_view root);
  /// Unlinks it from its parent and from its children, which have no parent then. Returns the
  /// number of children.
  std::size_t erase(Index index);
  /// The entry belongs to that peer from now on.
  void move_to(Index index, PeerId peer);
  void link(Index parent, Index child);

  RequestEntry& operator[](Index index) { return entries_[index]; }
  RequestEntry const& operator[](Index index) const { return entries_[index]; }
  Index find(PeerId peer, std::string_view id) const;
  std::string_view root_of(Index index) const;
  /// Whether it names another request as its root.
  bool names_root(Index index) const { return rooted_.contains(index); }
  /// The first of the entries that name this root without being the root themselves.
  Index first_of_root(std::string_view root) const;
  /// The next one after an entry that names its root.
  Index next_of_root(Index index) const { return rooted_.at(index).next; }
  Index oldest() const { return oldest_; }
  Index newest() const { return newest_; }
  std::size_t size() const { return index_.size(); }

 private:
  struct Key {
    PeerId peer;
    std::string_view id;
    bool operator==(Key const&) const = default;
  };
  /// Hashes and compares entries by their keys.
  struct ByKey {
    using is_transparent = void;
    std::deque<RequestEntry> const* entries;

    static Key const& key(Key const& key) { return key; }
    Key key(Index index) const {
      RequestEntry const& entry = (*entries)[index];
      return {entry.peer, entry.id};
    }
    std::size_t operator()(auto const& one) const { return hash(key(one)); }
    bool operator()(auto const& one, auto const& other) const { return key(one) == key(other); }
    static std::size_t hash(Key const& key);
  };
  struct OfRoot {
    Index first = kNone;
    Index last = kNone;
  };
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>{}(name);
    }
  };
  using Roots = std::unordered_map<std::string, OfRoot, NameHash, std::equal_to<>>;
  struct Rooted {
    Roots::value_type* root = nullptr;
    Index next = kNone;  // the next of those that name the same root
    Index previous = kNone;
  };

  Index allocate();
  void unlink(Index child);
  void enter_root(Index index, std::string_view name);
  void leave_root(Index index);

  std::deque<RequestEntry> entries_;  // stable, for views of ids
  std::vector<Index> free_;
  std::unordered_set<Index, ByKey, ByKey> index_{0, ByKey{&entries_}, ByKey{&entries_}};
  Roots roots_;                               // those that are named
  std::unordered_map<Index, Rooted> rooted_;  // the entries that name them
  Index oldest_ = kNone;
  Index newest_ = kNone;
};

}  // namespace lastcall::lifecycle
