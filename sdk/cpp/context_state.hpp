// The state to which a RequestContext is a handle, and the reports to the client that began it.
//
// Rules:
//  1. What it knows is held in objects: its place in the tree, its cancellation, its subscribers.
//  2. No callback and no owner is called with the TreeLock held.
//
// Thread rule: any thread, without the TreeLock, except methods that take it as an argument.
// Source: docs/ipc.md, 'Reconnecting'.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include <lastcall/request_context.hpp>

#include "sdk/cpp/cancellation.hpp"
#include "sdk/cpp/context_tree.hpp"
#include "sdk/cpp/reached_futures.hpp"
#include "sdk/cpp/subscribers.hpp"

namespace lastcall::sdk {

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

  /// The state of these contexts has risen; the supervisor already knows the state of those in
  /// `notified`.
  virtual void raised(std::span<ContextPtr const> contexts, Notified const& notified) = 0;
  virtual void ended(ContextPtr const& context, Outcome outcome) = 0;
  /// The engine has released a cancelled request that is not over yet.
  virtual void confirmed(ContextPtr const& context) = 0;
  virtual void progress(ContextState& context) = 0;
};

class ContextState : public std::enable_shared_from_this<ContextState> {
 public:
  ContextState(std::string id, std::string root, std::shared_ptr<Owner> owner);

  std::string const& id() const { return id_; }
  std::string const& root() const { return root_; }
  Level level() const { return cancellation_.level(); }
  std::optional<Outcome> outcome(TreeLock const& /*held*/) const { return outcome_; }
  std::optional<Reason> reason() const;
  bool is_confirmed() const;
  /// Like the cancellation's, but the tree above is searched for it.
  std::optional<Reason> cause(TreeLock& lock);

  TreePlace& place(TreeLock const& /*held*/) { return place_; }
  Cancellation const& cancellation(TreeLock const& /*held*/) const { return cancellation_; }
  ReachedFutures& futures() { return futures_; }

  /// `cause` is the reason at the place where the cancel began, if it differs from `reason`.
  bool raise(Level level, Reason reason, std::optional<Reason> cause, Notified const& notified);
  bool link(ContextPtr const& child);
  RequestContext::CallbackId subscribe(Level level, RequestContext::Callback callback);
  bool forget(RequestContext::CallbackId id);
  bool confirm();
  bool end(std::optional<Outcome> outcome);
  void progress();

  /// Only the owner reads and writes it.
  std::atomic<bool> moved{};

 private:
  Outcome natural_outcome(TreeLock& lock);

  std::string const id_;
  std::string const root_;
  std::shared_ptr<Owner> const owner_;
  Cancellation cancellation_;
  std::optional<Outcome> outcome_;
  bool is_confirmed_{};
  Subscribers subscribers_;
  ReachedFutures futures_;
  TreePlace place_;
};

}  // namespace lastcall::sdk
