#include "core/request_slab.hpp"

namespace lastcall::lifecycle {

// libstdc++ allocates 512 bytes of a deque at a time.
static_assert(sizeof(RequestEntry) <= 512 / 4);

std::size_t RequestSlab::ByKey::hash(Key const& key) {
  return std::hash<std::string_view>{}(key.id) ^ (key.peer * 0x9e3779b97f4a7c15ULL);
}

RequestSlab::RequestSlab(RequestSlab const& other)
    : entries_(other.entries_), free_(other.free_), oldest_(other.oldest_), newest_(other.newest_) {
  for (Index i = oldest_; i != kNone; i = entries_[i].links.newer) {
    index_.insert(i);
    if (other.names_root(i)) {
      enter_root(i, other.root_of(i));
    }
  }
}

RequestSlab::Index RequestSlab::insert(PeerId peer, std::string_view id, std::string_view root) {
  Index const index = allocate();
  RequestEntry& entry = entries_[index];
  entry.peer = peer;
  entry.id = id;
  index_.insert(index);
  if (!root.empty() && root != id) {
    enter_root(index, root);
  }
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

std::string_view RequestSlab::root_of(Index index) const {
  auto const found = rooted_.find(index);
  return found == rooted_.end() ? entries_[index].id : found->second.root->first;
}

RequestSlab::Index RequestSlab::first_of_root(std::string_view root) const {
  auto const found = roots_.find(root);
  return found == roots_.end() ? kNone : found->second.first;
}

void RequestSlab::enter_root(Index index, std::string_view name) {
  auto root = roots_.find(name);
  if (root == roots_.end()) {
    root = roots_.try_emplace(std::string(name)).first;
  }
  OfRoot& list = root->second;
  (list.last == kNone ? list.first : rooted_[list.last].next) = index;
  rooted_[index] = {.root = &*root, .next = kNone, .previous = list.last};
  list.last = index;
}

void RequestSlab::leave_root(Index index) {
  auto const found = rooted_.find(index);
  if (found == rooted_.end()) {
    return;
  }
  Rooted const left = found->second;
  rooted_.erase(found);
  OfRoot& list = left.root->second;
  (left.previous == kNone ? list.first : rooted_[left.previous].next) = left.next;
  (left.next == kNone ? list.last : rooted_[left.next].previous) = left.previous;
  if (list.first == kNone) {
    roots_.erase(roots_.find(left.root->first));
  }
}

}  // namespace lastcall::lifecycle
