#include "core/request_slab.hpp"

#include <utility>

namespace lastcall::lifecycle {

std::size_t RequestSlab::ByKey::hash(Key const& key) {
  return std::hash<std::string_view>{}(key.id) ^ (key.peer * 0x9e3779b97f4a7c15ULL);
}

RequestSlab::RequestSlab(RequestSlab const& other)
    : entries_(other.entries_), free_(other.free_), oldest_(other.oldest_), newest_(other.newest_) {
  for (Index i = oldest_; i != kNone; i = entries_[i].links.newer) {
    index_.insert(i);
    enter_root(i);
  }
}

RequestSlab::Index RequestSlab::insert(PeerId peer, std::string_view id, std::string_view root) {
  Index const index = allocate();
  RequestEntry& entry = entries_[index];
  entry.peer = peer;
  entry.id = id;
  entry.root = root == id ? std::string_view() : root;
  index_.insert(index);
  enter_root(index);
  return index;
}

RequestSlab::Index RequestSlab::allocate() {
  Index index = 0;
  if (free_.empty()) {
    index = static_cast<Index>(entries_.size());
    entries_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  RequestEntry& entry = entries_[index];
  std::uint32_t const generation = entry.generation + 1;
  entry = RequestEntry{};
  entry.generation = generation;
  entry.used = true;
  entry.links.older = newest_;
  (newest_ == kNone ? oldest_ : entries_[newest_].links.newer) = index;
  newest_ = index;
  return index;
}

std::size_t RequestSlab::erase(Index index) {
  RequestEntry& entry = entries_[index];
  if (entry.links.parent != kNone) {
    unlink(index);
  }
  std::size_t children = 0;
  for (Index child = entry.links.first_child; child != kNone; ++children) {
    RequestEntry& below = entries_[child];
    child = below.links.next_sibling;
    below.links.parent = below.links.next_sibling = below.links.previous_sibling = kNone;
  }
  (entry.links.older == kNone ? oldest_ : entries_[entry.links.older].links.newer) =
      entry.links.newer;
  (entry.links.newer == kNone ? newest_ : entries_[entry.links.newer].links.older) =
      entry.links.older;
  index_.erase(index);
  leave_root(index);
  entry.used = false;
  entry.id.clear();
  entry.root.clear();
  free_.push_back(index);
  return children;
}

void RequestSlab::move_to(Index index, PeerId peer) {
  index_.erase(index);
  entries_[index].peer = peer;
  index_.insert(index);
}

// --- the tree ------------------------------------------------------------------------------------

void RequestSlab::link(Index parent, Index child) {
  RequestEntry& above = entries_[parent];
  RequestEntry& below = entries_[child];
  below.links.parent = parent;
  below.links.previous_sibling = above.links.last_child;
  (above.links.last_child == kNone ? above.links.first_child
                                   : entries_[above.links.last_child].links.next_sibling) = child;
  above.links.last_child = child;
}

void RequestSlab::unlink(Index child) {
  RequestEntry& below = entries_[child];
  RequestEntry& above = entries_[below.links.parent];
  (below.links.previous_sibling == kNone
       ? above.links.first_child
       : entries_[below.links.previous_sibling].links.next_sibling) = below.links.next_sibling;
  (below.links.next_sibling == kNone ? above.links.last_child
                                     : entries_[below.links.next_sibling].links.previous_sibling) =
      below.links.previous_sibling;
  below.links.parent = kNone;
}

// --- look-ups ------------------------------------------------------------------------------------

RequestSlab::Index RequestSlab::find(PeerId peer, std::string_view id) const {
  auto const found = index_.find(Key{peer, id});
  return found == index_.end() ? kNone : *found;
}

RequestSlab::Index RequestSlab::first_of_root(std::string_view root) const {
  auto const found = by_root_.find(root);
  return found == by_root_.end() ? kNone : found->second.first;
}

void RequestSlab::enter_root(Index index) {
  RequestEntry& entry = entries_[index];
  if (entry.root.empty()) {
    return;
  }
  auto const [place, is_first] = by_root_.try_emplace(entry.root, OfRoot{index, index});
  entry.links.next_of_root = kNone;
  entry.links.previous_of_root = is_first ? kNone : place->second.last;
  if (!is_first) {
    entries_[place->second.last].links.next_of_root = index;
    place->second.last = index;
  }
}

void RequestSlab::leave_root(Index index) {
  RequestEntry const& entry = entries_[index];
  if (entry.root.empty()) {
    return;
  }
  if (entry.links.next_of_root != kNone) {
    entries_[entry.links.next_of_root].links.previous_of_root = entry.links.previous_of_root;
  }
  auto const place = by_root_.find(entry.root);
  if (entry.links.previous_of_root != kNone) {
    entries_[entry.links.previous_of_root].links.next_of_root = entry.links.next_of_root;
    if (entry.links.next_of_root == kNone) {
      place->second.last = entry.links.previous_of_root;
    }
    return;
  }
  // The key is a view of the root's name in the first entry.
  auto node = by_root_.extract(place);
  if (entry.links.next_of_root != kNone) {
    node.key() = entries_[entry.links.next_of_root].root;
    node.mapped().first = entry.links.next_of_root;
    by_root_.insert(std::move(node));
  }
}

}  // namespace lastcall::lifecycle
