#include "sdk/cpp/context_state.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace lastcall::sdk {
namespace {

std::uint64_t next_token() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

/// An exception of a callback cannot be passed on to anyone, so it ends the process.
void call(RequestContext::Callback const& callback, RequestContext const& context) noexcept {
  callback(context);
}

}  // namespace

ContextState::ContextState(std::string id, std::string root, std::shared_ptr<Owner> owner)
    : id_(std::move(id)), root_(std::move(root)), owner_(std::move(owner)) {}

ContextState::~ContextState() {
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

std::optional<Reason> ContextState::reason() const {
  TreeLock const lock;
  return reason_;
}

std::optional<Reason> ContextState::cause() {
  TreeLock lock;
  return cause_ == Reason::parent ? cause_above(lock) : cause_;
}

std::optional<Outcome> ContextState::outcome() const {
  TreeLock const lock;
  return outcome_;
}

bool ContextState::is_confirmed() const {
  TreeLock const lock;
  return is_confirmed_;
}

std::size_t ContextState::child_count() const {
  TreeLock const lock;
  return children_.size();
}

bool ContextState::raise(Level level, Reason reason, std::optional<Reason> cause,
                         Notified const& notified) {
  std::vector<ContextPtr> risen;
  std::vector<std::pair<ContextPtr, RequestContext::Callback>> calls;
  {
    TreeLock const lock;
    if (this->level() >= level) {
      return false;
    }
    risen = below(level);
    for (ContextPtr const& each : risen) {
      if (each->level() == Level::live) {
        each->reason_ = each.get() == this ? reason : Reason::parent;
        each->cause_ = cause.value_or(reason);
      }
      each->level_.store(level, std::memory_order_release);
      auto const stays = [&](Subscriber const& one) { return one.level > level; };
      for (Subscriber& one : each->subscribers_) {
        if (!stays(one)) {
          calls.emplace_back(each, std::move(one.call));
        }
      }
      std::erase_if(each->subscribers_, std::not_fn(stays));
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
  std::optional<Reason> cause;
  {
    TreeLock lock;
    if (child->reaches(*this)) {
      throw std::invalid_argument("cannot link '" + child->id_ + "' below '" + id_ +
                                  "': that would make a cycle");
    }
    if (child->is_child_of(*this) || child->outcome_) {
      return false;
    }
    children_.push_back(child);
    child->above_.push_back({weak_from_this(), std::prev(children_.end())});
    level = this->level();
    cause = cause_ == Reason::parent ? cause_above(lock) : cause_;
  }
  if (level > Level::live) {
    child->raise(level, Reason::parent, cause, {});
  }
  return true;
}

std::uint64_t ContextState::subscribe(Level level, RequestContext::Callback callback) {
  std::uint64_t const token = next_token();
  {
    TreeLock const lock;
    if (this->level() < level) {
      subscribers_.push_back({token, level, std::move(callback)});
      return token;
    }
  }
  call(callback, Handles::of(shared_from_this()));
  return token;
}

bool ContextState::forget(std::uint64_t token) {
  RequestContext::Callback taken;  // destroyed without the lock, because it may hold anything
  TreeLock const lock;
  auto const found = std::find_if(subscribers_.begin(), subscribers_.end(),
                                  [&](Subscriber const& one) { return one.token == token; });
  if (found == subscribers_.end()) {
    return false;
  }
  taken = std::move(found->call);
  subscribers_.erase(found);
  return true;
}

template <typename Result>
std::shared_future<Result> ContextState::once(std::shared_future<Result>& kept, Level level,
                                              auto... value) {
  std::shared_ptr<std::promise<Result>> promise;
  std::shared_future<Result> future;
  {
    TreeLock const lock;
    if (kept.valid()) {
      return kept;
    }
    promise = std::make_shared<std::promise<Result>>();
    future = kept = promise->get_future().share();
  }
  subscribe(level, [=](RequestContext const&) { promise->set_value(value...); });
  return future;
}

std::shared_future<void> ContextState::reached(Level level) {
  return once(level == Level::killed ? killed_ : stopped_, level);
}

std::shared_future<bool> ContextState::stopped_or_killed() {
  return once(either_, Level::stopped, true);
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
    leave(lock);
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
  auto const cause = cause_ == Reason::parent ? cause_above(lock) : cause_;
  bool const is_handed_off = cause == Reason::migrate || cause == Reason::grace_timeout;
  Outcome const other = cause == Reason::engine_dead ? Outcome::engine_dead : Outcome::cancelled;
  return is_handed_off ? Outcome::migrated : other;
}

void ContextState::progress() {
  if (owner_) {
    owner_->progress(*this);
  }
}

}  // namespace lastcall::sdk
