// Cancels by name: found by look-ups, so that they cost the same however much is in flight.
//
// A user's request bears its root's name itself; those that name another root are in a list of that
// root, in the order of their begin.
#include <algorithm>

#include "core/request_ledger.hpp"

namespace lastcall::lifecycle {

std::size_t RequestLedger::cancel_id(Instant now, PeerId peer, std::string_view id, CancelMode mode,
                                     CancelReason reason) {
  Index const index = find(peer, id);
  return index == kNone ? 0 : rise_tree(now, index, mode, reason);
}

std::size_t RequestLedger::cancel_id(Instant now, std::string_view id, CancelMode mode,
                                     CancelReason reason) {
  std::size_t raised = 0;
  for (Index const index : everywhere(id)) {
    raised += rise_tree(now, index, mode, reason);
  }
  return raised;
}

std::size_t RequestLedger::cancel_root(Instant now, std::optional<PeerId> of, std::string_view root,
                                       CancelMode mode, CancelReason reason) {
  std::size_t raised = 0;
  auto const may = [&](Index index) { return !of || entries_[index].peer == *of; };
  for (Index const index : everywhere(root)) {
    if (may(index) && entries_[index].root.empty()) {
      raised += rise_tree(now, index, mode, reason);
    }
  }
  auto const found = by_root_.find(root);
  for (Index i = found == by_root_.end() ? kNone : found->second.first; i != kNone;
       i = entries_[i].next_of_root) {
    if (may(i)) {
      raised += rise_tree(now, i, mode, reason);
    }
  }
  return raised;
}

/// The live requests of that id, by peer.
std::vector<RequestLedger::Index> RequestLedger::everywhere(std::string_view id) const {
  std::vector<Index> found;
  for (auto const& [peer, state] : peers_) {
    if (Index const index = find(peer, id); index != kNone) {
      found.push_back(index);
    }
  }
  std::sort(found.begin(), found.end(),
            [this](Index a, Index b) { return entries_[a].peer < entries_[b].peer; });
  return found;
}

void RequestLedger::enter_root(Index index) {
  Entry& entry = entries_[index];
  if (entry.root.empty()) {
    return;
  }
  auto const [place, is_first] = by_root_.try_emplace(entry.root, OfRoot{index, index});
  entry.next_of_root = kNone;
  entry.previous_of_root = is_first ? kNone : place->second.last;
  if (!is_first) {
    entries_[place->second.last].next_of_root = index;
    place->second.last = index;
  }
}

void RequestLedger::leave_root(Index index) {
  Entry const& entry = entries_[index];
  if (entry.root.empty()) {
    return;
  }
  if (entry.next_of_root != kNone) {
    entries_[entry.next_of_root].previous_of_root = entry.previous_of_root;
  }
  auto const place = by_root_.find(entry.root);
  if (entry.previous_of_root != kNone) {
    entries_[entry.previous_of_root].next_of_root = entry.next_of_root;
    if (entry.next_of_root == kNone) {
      place->second.last = entry.previous_of_root;
    }
    return;
  }
  // The key is a view of the first one's name.
  auto node = by_root_.extract(place);
  if (entry.next_of_root != kNone) {
    node.key() = entries_[entry.next_of_root].root;
    node.mapped().first = entry.next_of_root;
    by_root_.insert(std::move(node));
  }
}

}  // namespace lastcall::lifecycle
