// The trees of contexts: their one mutex, the place of each context, and the walks.
//
// Rules:
//  1. One mutex guards all trees; what needs it takes a TreeLock as a sign that it is held.
//  2. Parents own their children; children hold weak references to their parents.
//  3. Walks are loops, never recursive.
//
// Thread rule: a TreeLock belongs to the thread that made it. Source: RequestContext, rules 3 to 5.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include <lastcall/words.hpp>

#include "sdk/cpp/cancellation.hpp"

namespace lastcall::sdk {

class ContextState;
using ContextPtr = std::shared_ptr<ContextState>;

/// Holds the one mutex of all trees, and keeps the contexts alive that a walk has visited: the
/// destruction of a context runs its user's code, which must not happen under the mutex.
class TreeLock {
 public:
  TreeLock();
  ~TreeLock();
  TreeLock(TreeLock const&) = delete;
  TreeLock& operator=(TreeLock const&) = delete;

  ContextState* keep(ContextPtr context);

 private:
  std::vector<ContextPtr> kept_;
};

/// The place of one context in its tree.
class TreePlace {
 public:
  using Children = std::list<ContextPtr>;
  struct Above {
    std::weak_ptr<ContextState> parent;
    Children::iterator child;  // in the parent's children
  };

  TreePlace() = default;
  /// A long chain of contexts is destroyed in a loop.
  ~TreePlace();
  TreePlace(TreePlace const&) = delete;
  TreePlace& operator=(TreePlace const&) = delete;

  Children& children() { return children_; }
  std::vector<Above>& above() { return above_; }
  /// Returns whether the walk of that number comes here for the first time.
  bool visit(std::uint64_t walk) { return std::exchange(last_walk_, walk) != walk; }

 private:
  Children children_;
  std::vector<Above> above_;
  std::uint64_t last_walk_{};
};

/// Puts `child` below `parent`. Returns false if it is there already or finished; throws
/// std::invalid_argument, without a change, if that would make a cycle.
bool put_below(ContextState& parent, ContextPtr const& child, TreeLock& lock);
/// The contexts that a rise to `level` changes: children before parents, in link order.
std::vector<ContextPtr> risen_with(ContextState& context, Level level, TreeLock& lock);
/// The first reason other than `parent` on the way up the tree; `parent` if the cancel began
/// elsewhere.
Reason cause_above(ContextState& context, TreeLock& lock);
/// Unlinks contexts that are finished and have no unfinished context below them, from this one
/// upwards.
void leave_tree(ContextState& context, TreeLock& lock);

}  // namespace lastcall::sdk
