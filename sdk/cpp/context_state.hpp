// The state to which a RequestContext is a handle, and the reports to the client that began it.
//
// Rules:
//  1. One mutex guards all trees; only `level` is read without it.
//  2. No callback and no owner is called with that mutex held.
//  3. Parents own their children; children hold weak references to their parents.
//
// Thread rule: public methods from any thread. Source: docs/ipc.md, 'Reconnecting'.
#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <lastcall/request_context.hpp>

namespace lastcall::sdk {

enum class Level : std::uint8_t { live, stopped, killed };

class ContextState;
using ContextPtr = std::shared_ptr<ContextState>;
/// The ids that one line of the supervisor cancelled: the supervisor need not be notified of them
/// again.
using Notified = std::unordered_set<std::string_view>;

/// Receives the reports of a context to its client. It is called on whichever thread acts on the
/// context, with no lock held.
class Owner {
 public:
  Owner() = default;
  virtual ~Owner() = default;
  Owner(Owner const&) = delete;
  Owner& operator=(Owner const&) = delete;

  /// The state of these contexts has risen; the supervisor already knows that of those in
  /// `notified`.
  virtual void raised(std::span<ContextPtr const> contexts, Notified const& notified) = 0;
  virtual void ended(ContextPtr const& context, Outcome outcome) = 0;
  /// The engine has released a cancelled request that is not over yet.
  virtual void confirmed(ContextPtr const& context) = 0;
  virtual void progress(ContextState& context) = 0;
};

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

class ContextState : public std::enable_shared_from_this<ContextState> {
 public:
  ContextState(std::string id, std::string root, std::shared_ptr<Owner> owner);
  ~ContextState();
  ContextState(ContextState const&) = delete;
  ContextState& operator=(ContextState const&) = delete;

  std::string const& id() const { return id_; }
  std::string const& root() const { return root_; }
  Level level() const { return level_.load(std::memory_order_acquire); }
  std::optional<Reason> reason() const;
  std::optional<Reason> cause();
  std::optional<Outcome> outcome() const;
  bool is_confirmed() const;

  /// `cause` is the reason at the place where the cancel began, if it differs from `reason`.
  bool raise(Level level, Reason reason, std::optional<Reason> cause, Notified const& notified);
  bool link(ContextPtr const& child);
  std::uint64_t subscribe(Level level, RequestContext::Callback callback);
  bool forget(std::uint64_t token);
  /// The one future for that level: it has a single subscriber, however often it is requested.
  std::shared_future<void> reached(Level level);
  std::shared_future<bool> stopped_or_killed();
  bool confirm();
  bool end(std::optional<Outcome> outcome);
  void progress();
  std::size_t child_count() const;

  /// Only the owner reads and writes it.
  std::atomic<bool> moved{};

 private:
  struct Subscriber {
    std::uint64_t token;
    Level level;
    RequestContext::Callback call;
  };
  using Children = std::list<ContextPtr>;
  struct Above {
    std::weak_ptr<ContextState> parent;
    Children::iterator place;
  };

  template <typename Result>
  std::shared_future<Result> once(std::shared_future<Result>& kept, Level level, auto... value);
  bool is_child_of(ContextState const& parent) const;
  std::vector<ContextPtr> below(Level level);
  bool reaches(ContextState const& goal);
  Reason cause_above(TreeLock& lock);
  Outcome natural_outcome(TreeLock& lock);
  void leave(TreeLock& lock);

  std::string const id_;
  std::string const root_;
  std::shared_ptr<Owner> const owner_;
  std::atomic<Level> level_{Level::live};
  std::uint64_t mark_{};  // number of the last walk that visited it
  std::optional<Reason> reason_;
  std::optional<Reason> cause_;
  std::optional<Outcome> outcome_;
  bool is_confirmed_{};
  Children children_;
  std::vector<Above> above_;
  std::vector<Subscriber> subscribers_;
  std::shared_future<void> stopped_, killed_;  // not valid until it is requested
  std::shared_future<bool> either_;
};

/// Throws std::invalid_argument, with `what` in its message, if the text cannot be an id.
std::string checked_id(std::string id, char const* what = "request id");
std::string random_id();

/// Converts between handles and the states that they refer to.
struct Handles {
  static RequestContext of(ContextPtr state) { return RequestContext(std::move(state)); }
  static ContextPtr const& state_of(RequestContext const& context) { return context.state_; }
};

}  // namespace lastcall::sdk
