#include "sdk/cpp/context_tree.hpp"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <type_traits>

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

std::uint64_t next_walk(TreeLock const& /*held*/) {
  static std::uint64_t last = 0;
  return ++last;
}

bool is_below(ContextState& child, ContextState const& parent, TreeLock const& lock) {
  auto const wanted = parent.weak_from_this();
  auto const& above = child.place(lock).above();
  return std::any_of(above.begin(), above.end(), [&](TreePlace::Above const& each) {
    return !each.parent.owner_before(wanted) && !wanted.owner_before(each.parent);
  });
}

bool reaches(ContextState& top, ContextState const& goal, TreeLock const& lock) {
  std::uint64_t const walk = next_walk(lock);
  std::vector<ContextState*> waiting{&top};
  while (!waiting.empty()) {
    ContextState* const node = waiting.back();
    waiting.pop_back();
    if (node == &goal) {
      return true;
    }
    for (ContextPtr const& child : node->place(lock).children()) {
      if (child->place(lock).visit(walk)) {
        waiting.push_back(child.get());
      }
    }
  }
  return false;
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

TreePlace::~TreePlace() {
  // The last owner of a long chain destroys it in a loop, so that the contexts do not destroy their
  // children recursively.
  thread_local Children* dying = nullptr;
  if (children_.empty()) {
    return;
  }
  if (dying != nullptr) {
    dying->splice(dying->end(), children_);
    return;
  }
  Children all = std::move(children_);
  dying = &all;
  while (!all.empty()) {
    ContextPtr const last = std::move(all.back());
    all.pop_back();
  }
  dying = nullptr;
}

bool put_below(ContextState& parent, ContextPtr const& child, TreeLock& lock) {
  if (reaches(*child, parent, lock)) {
    throw std::invalid_argument("cannot link '" + child->id() + "' below '" + parent.id() +
                                "': that would make a cycle");
  }
  if (is_below(*child, parent, lock) || child->outcome(lock)) {
    return false;
  }
  auto& children = parent.place(lock).children();
  children.push_back(child);
  child->place(lock).above().push_back({parent.weak_from_this(), std::prev(children.end())});
  return true;
}

/// A child is never below its parent's level, so the walk ends where the level is reached already.
std::vector<ContextPtr> risen_with(ContextState& context, Level level, TreeLock& lock) {
  std::uint64_t const walk = next_walk(lock);
  context.place(lock).visit(walk);
  std::vector<ContextPtr> order;
  std::vector<std::pair<ContextState*, TreePlace::Children::iterator>> path{
      {&context, context.place(lock).children().begin()}};
  while (!path.empty()) {
    auto& [node, next] = path.back();
    if (next == node->place(lock).children().end()) {
      order.push_back(node->shared_from_this());
      path.pop_back();
      continue;
    }
    ContextState& child = **next++;
    if (child.level() < level && child.place(lock).visit(walk)) {
      path.emplace_back(&child, child.place(lock).children().begin());
    }
  }
  return order;
}

Reason cause_above(ContextState& context, TreeLock& lock) {
  std::uint64_t const walk = next_walk(lock);
  std::vector<ContextState*> waiting{&context};
  while (!waiting.empty()) {
    ContextState* const node = waiting.back();
    waiting.pop_back();
    auto const cause = node->cancellation(lock).cause();
    if (cause && cause != Reason::parent) {
      return *cause;
    }
    for (TreePlace::Above const& each : node->place(lock).above()) {
      ContextState* const parent = lock.keep(each.parent.lock());
      if (parent != nullptr && parent->place(lock).visit(walk)) {
        waiting.push_back(parent);
      }
    }
  }
  return Reason::parent;
}

void leave_tree(ContextState& context, TreeLock& lock) {
  std::vector<ContextState*> waiting{&context};
  while (!waiting.empty()) {
    ContextState* const node = waiting.back();
    waiting.pop_back();
    if (!node->outcome(lock) || !node->place(lock).children().empty()) {
      continue;
    }
    for (TreePlace::Above& each : std::exchange(node->place(lock).above(), {})) {
      if (ContextState* const parent = lock.keep(each.parent.lock()); parent != nullptr) {
        lock.keep(std::move(*each.child));
        parent->place(lock).children().erase(each.child);
        waiting.push_back(parent);
      }
    }
  }
}

}  // namespace lastcall::sdk
