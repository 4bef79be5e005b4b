// The one mutex of all trees, and the walks under it, which are loops and never recursive.
#include <algorithm>
#include <type_traits>
#include <utility>

#include <pthread.h>

#include "sdk/cpp/context_state.hpp"

namespace lastcall::sdk {
namespace {

/// Contexts may outlive every other static object, so this one must have no destructor that runs
/// before them.
static_assert(std::is_trivially_destructible_v<std::mutex>);

std::mutex& tree_mutex() {
  static std::mutex mutex;
  // A forked child must not inherit the mutex from a thread that does not exist there.
  [[maybe_unused]] static int const kForkRule =
      ::pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });
  return mutex;
}

std::uint64_t next_mark() {
  static std::uint64_t last = 0;
  return ++last;
}

}  // namespace

TreeLock::TreeLock() {
  tree_mutex().lock();
}

TreeLock::~TreeLock() {
  tree_mutex().unlock();  // the kept contexts are released only after this
}

ContextState* TreeLock::keep(ContextPtr context) {
  kept_.push_back(std::move(context));
  return kept_.back().get();
}

bool ContextState::is_child_of(ContextState const& parent) const {
  auto const wanted = parent.weak_from_this();
  return std::any_of(above_.begin(), above_.end(), [&](Above const& each) {
    return !each.parent.owner_before(wanted) && !wanted.owner_before(each.parent);
  });
}

/// The contexts that a rise to `level` changes: children before parents, in link order. A child is
/// never below its parent, so the walk ends where the level is reached already.
std::vector<ContextPtr> ContextState::below(Level level) {
  std::uint64_t const mark = next_mark();
  mark_ = mark;
  std::vector<ContextPtr> order;
  std::vector<std::pair<ContextState*, Children::iterator>> path{{this, children_.begin()}};
  while (!path.empty()) {
    auto& [node, next] = path.back();
    if (next == node->children_.end()) {
      order.push_back(node->shared_from_this());
      path.pop_back();
      continue;
    }
    ContextState& child = **next++;
    if (child.level() < level && child.mark_ != mark) {
      child.mark_ = mark;
      path.emplace_back(&child, child.children_.begin());
    }
  }
  return order;
}

bool ContextState::reaches(ContextState const& goal) {
  std::uint64_t const mark = next_mark();
  std::vector<ContextState*> waiting{this};
  while (!waiting.empty()) {
    ContextState* const node = waiting.back();
    waiting.pop_back();
    if (node == &goal) {
      return true;
    }
    for (ContextPtr const& child : node->children_) {
      if (child->mark_ != mark) {
        child->mark_ = mark;
        waiting.push_back(child.get());
      }
    }
  }
  return false;
}

/// The first reason other than `parent` on the way up the tree; `parent` if the cancel began
/// elsewhere.
Reason ContextState::cause_above(TreeLock& lock) {
  std::uint64_t const mark = next_mark();
  std::vector<ContextState*> waiting{this};
  while (!waiting.empty()) {
    ContextState* const node = waiting.back();
    waiting.pop_back();
    if (node->cause_ && node->cause_ != Reason::parent) {
      return *node->cause_;
    }
    for (Above const& each : node->above_) {
      ContextState* const parent = lock.keep(each.parent.lock());
      if (parent != nullptr && parent->mark_ != mark) {
        parent->mark_ = mark;
        waiting.push_back(parent);
      }
    }
  }
  return Reason::parent;
}

/// Unlinks contexts that are finished and have no unfinished context below them, from this one
/// upwards.
void ContextState::leave(TreeLock& lock) {
  std::vector<ContextState*> waiting{this};
  while (!waiting.empty()) {
    ContextState* const node = waiting.back();
    waiting.pop_back();
    if (!node->outcome_ || !node->children_.empty()) {
      continue;
    }
    for (Above const& each : std::exchange(node->above_, {})) {
      if (ContextState* const parent = lock.keep(each.parent.lock()); parent != nullptr) {
        lock.keep(std::move(*each.place));
        parent->children_.erase(each.place);
        waiting.push_back(parent);
      }
    }
  }
}

}  // namespace lastcall::sdk
