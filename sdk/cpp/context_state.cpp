#include "sdk/cpp/context_state.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace lastcall::sdk {
namespace {

RequestContext::CallbackId next_callback_id() {
  static std::atomic<RequestContext::CallbackId> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

/// An exception of a callback cannot be passed on to anyone, so it ends the process.
void call(RequestContext::Callback const& callback, RequestContext const& context) noexcept {
  callback(context);
}

}  // namespace

ContextState::ContextState(std::string id, std::string root, std::shared_ptr<Owner> owner)
    : id_(std::move(id)), root_(std::move(root)), owner_(std::move(owner)) {}

std::optional<Reason> ContextState::reason() const {
  TreeLock const lock;
  return cancellation_.reason();
}

bool ContextState::is_confirmed() const {
  TreeLock const lock;
  return is_confirmed_;
}

std::optional<Reason> ContextState::cause(TreeLock& lock) {
  auto const known = cancellation_.cause();
  return known == Reason::parent ? cause_above(*this, lock) : known;
}

bool ContextState::raise(Level level, Reason reason, std::optional<Reason> cause,
                         Notified const& notified) {
  std::vector<ContextPtr> risen;
  std::vector<std::pair<ContextPtr, RequestContext::Callback>> calls;
  {
    TreeLock lock;
    if (this->level() >= level) {
      return false;
    }
    risen = risen_with(*this, level, lock);
    for (ContextPtr const& each : risen) {
      each->cancellation_.rise(level, each.get() == this ? reason : Reason::parent,
                               cause.value_or(reason));
      for (RequestContext::Callback& due : each->subscribers_.take(level)) {
        calls.emplace_back(each, std::move(due));
      }
    }
  }
  for (auto const& [context, callback] : calls) {
    call(callback, Handles::of(context));
  }
  // One client owns nearly every tree.
  while (!risen.empty()) {
    std::shared_ptr<Owner> const owner = risen.front()->owner_;
    auto const rest = std::stable_partition(
        risen.begin(), risen.end(), [&](ContextPtr const& each) { return each->owner_ == owner; });
    if (owner) {
      owner->raised(std::span(risen.begin(), rest), notified);
    }
    risen.erase(risen.begin(), rest);
  }
  return true;
}

bool ContextState::link(ContextPtr const& child) {
  Level level{};
  std::optional<Reason> known;
  {
    TreeLock lock;
    if (!put_below(*this, child, lock)) {
      return false;
    }
    level = this->level();
    known = cause(lock);
  }
  if (level > Level::live) {
    child->raise(level, Reason::parent, known, {});
  }
  return true;
}

RequestContext::CallbackId ContextState::subscribe(Level level, RequestContext::Callback callback) {
  auto const id = next_callback_id();
  {
    TreeLock const lock;
    if (this->level() < level) {
      subscribers_.add(id, level, std::move(callback));
      return id;
    }
  }
  call(callback, Handles::of(shared_from_this()));
  return id;
}

bool ContextState::forget(RequestContext::CallbackId id) {
  std::optional<RequestContext::Callback> removed;  // destroyed without the lock
  TreeLock const lock;
  removed = subscribers_.remove(id);
  return removed.has_value();
}

bool ContextState::confirm() {
  {
    TreeLock const lock;
    if (level() == Level::live || is_confirmed_ || outcome_) {
      return false;
    }
    is_confirmed_ = true;
  }
  if (owner_) {
    owner_->confirmed(shared_from_this());
  }
  return true;
}

bool ContextState::end(std::optional<Outcome> outcome) {
  ContextPtr const self = shared_from_this();
  {
    TreeLock lock;
    if (outcome_) {
      return false;
    }
    outcome_ = outcome ? *outcome : natural_outcome(lock);
    outcome = outcome_;
    leave_tree(*this, lock);
  }
  if (owner_) {
    owner_->ended(self, *outcome);
  }
  return true;
}

Outcome ContextState::natural_outcome(TreeLock& lock) {
  if (level() == Level::live) {
    return Outcome::completed;
  }
  auto const known = cause(lock);
  bool const is_handed_off = known == Reason::migrate || known == Reason::grace_timeout;
  Outcome const other = known == Reason::engine_dead ? Outcome::engine_dead : Outcome::cancelled;
  return is_handed_off ? Outcome::migrated : other;
}

void ContextState::progress() {
  if (owner_) {
    owner_->progress(*this);
  }
}

}  // namespace lastcall::sdk
