// RequestContext: the cancellation state of one request, and its tree of sub-requests.
//
// Rules:
//  1. State only rises: live < stopped < killed. A stopped context never becomes live again, and a
//     killed one never becomes merely stopped. is_stopped() is true after a kill, too.
//  2. Each call that cancels returns whether it was the first to bring about that state.
//  3. A cancel reaches children before their parent, in the order in which they were linked; a
//     child that is linked late gets its parent's state at once. So the state of a child is never
//     below that of its parent.
//  4. Cycles are refused; no walk recurses, so depth costs no stack.
//  5. A finished context leaves the tree as soon as no unfinished child hangs below it.
//
// A RequestContext is a handle: copies refer to the same request, and cost as much as a shared_ptr.
// Thread rule: every method from any thread, but not from a signal handler. Callbacks run on the
// thread that cancels, which for a cancel by the supervisor is the one that runs the client; they
// must neither block nor throw. C++17. Source: Dynamo's AsyncEngineContext, made strict;
// tests/contract/request_context.jsonl has every case.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <lastcall/words.hpp>

namespace lastcall {

namespace sdk {
class ContextState;
struct Handles;
}  // namespace sdk

class RequestContext {
 public:
  using Callback = std::function<void(RequestContext const&)>;
  /// The result of on_stop() and on_kill(), for removing the callback; never 0.
  using CallbackId = std::uint64_t;

  /// Makes a free-standing context with a random id, which no supervisor knows. Client::begin()
  /// makes the contexts of requests.
  RequestContext();
  /// `root` is the user's request that sub-requests share; by default the id itself. Both must have
  /// 1 to 256 bytes of UTF-8; otherwise std::invalid_argument is thrown.
  explicit RequestContext(std::string id);
  RequestContext(std::string id, std::string root);

  std::string const& id() const;
  std::string const& root() const;

  /// Each of these costs one load, so they can be called for every token.
  bool is_stopped() const;
  bool is_killed() const;
  /// Why it was first cancelled; `parent` if the cancel came down the tree. Absent while it is
  /// live.
  std::optional<Reason> reason() const;
  /// Like reason(), but instead of `parent` the reason of the ancestor at which the cancel began.
  std::optional<Reason> cause() const;
  /// Absent while the request is in flight.
  std::optional<Outcome> outcome() const;

  /// Requests an orderly early end; output so far stays valid. Returns whether this call was the
  /// first to bring that state about.
  bool stop_generating(Reason reason = Reason::control) const;
  bool stop(Reason reason = Reason::control) const;
  /// Requests an immediate end, without draining the rest. Returns whether this call was the first
  /// to bring that state about.
  bool kill(Reason reason = Reason::control) const;

  /// Cancels `child` whenever this context is cancelled. Returns false if it is linked already or
  /// finished. Throws std::invalid_argument, without a change, if that would make a cycle.
  bool link_child(RequestContext const& child) const;

  /// Calls back once, when the context is stopped or killed (on_kill(): only when it is killed); at
  /// once if it already is.
  CallbackId on_stop(Callback callback) const;
  CallbackId on_kill(Callback callback) const;
  /// Removes a callback. Returns false if it was called already, or if another thread is calling
  /// it.
  bool forget(CallbackId id) const;

  /// stopped() and async_killed_or_stopped() become ready once the context is stopped or killed,
  /// and killed() once it is killed. Each call returns the same future, so a loop may call this. If
  /// the last handle of a context that was never cancelled is destroyed, they receive
  /// std::future_error (broken_promise).
  std::shared_future<void> stopped() const;
  std::shared_future<void> killed() const;
  std::shared_future<bool> async_killed_or_stopped() const;
  /// Block until the context is stopped (or killed); return false if the time has run out first.
  bool wait_stopped(std::chrono::milliseconds at_most) const;
  bool wait_killed(std::chrono::milliseconds at_most) const;

  /// Reports that the request has made progress (a token was generated). This is cheap; the
  /// supervisor is notified at most twice a second.
  void progress() const;
  /// Reports that the engine released this cancelled request before the request itself ends.
  /// Returns false if it is live or finished, or if that was reported already.
  bool confirm() const;
  /// The request is over, with the outcome that follows from its state: completed or, if it was
  /// stopped, migrated (causes migrate and grace_timeout), engine_dead (that cause) or cancelled.
  /// Returns false if it was over already.
  bool end() const;
  bool end(Outcome outcome) const;

  friend bool operator==(RequestContext const& a, RequestContext const& b) {
    return a.state_ == b.state_;
  }
  friend bool operator!=(RequestContext const& a, RequestContext const& b) { return !(a == b); }

 private:
  friend struct sdk::Handles;
  explicit RequestContext(std::shared_ptr<sdk::ContextState> state);

  std::shared_ptr<sdk::ContextState> state_;
};

namespace sdk {

/// For the library: converts between handles and the states that they refer to.
struct Handles {
  static RequestContext of(std::shared_ptr<ContextState> state) {
    return RequestContext(std::move(state));
  }
  static std::shared_ptr<ContextState> const& state_of(RequestContext const& context) {
    return context.state_;
  }
};

}  // namespace sdk

}  // namespace lastcall
