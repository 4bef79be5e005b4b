// RequestContext: the cancellation state of one request, and its tree of sub-requests.
//
// Rules:
//  1. State only rises: live < stopped < killed. A stopped context never becomes live, a killed one
//     never merely stopped; is_stopped() is true after a kill.
//  2. Each call that cancels returns whether it was the first to bring about that state.
//  3. A cancel reaches children before their parent, in link order; a child that is linked late
//     gets its parent's state at once. So a child is never below its parent.
//  4. Cycles are refused; no walk recurses, so depth costs no stack.
//  5. A finished context leaves the tree as soon as no unfinished child hangs below it.
//
// A RequestContext is a handle: copies mean the same request, and are as cheap as a shared_ptr.
// Thread rule: every method from any thread. Callbacks run on the thread that cancels, which for a
// cancel of the supervisor is the one that runs the client; they must not block and not throw.
// Not for signal handlers. C++17. Source: Dynamo's AsyncEngineContext, made strict;
// tests/contract/request_context.jsonl has every case.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include <lastcall/words.hpp>

namespace lastcall {

namespace sdk {
class ContextState;
struct Handles;
}  // namespace sdk

class RequestContext {
 public:
  using Callback = std::function<void(RequestContext const&)>;
  /// on_stop() and on_kill() return it, for removing the callback; never 0.
  using CallbackId = std::uint64_t;

  /// A free-standing context with a random id, which no supervisor knows. Client::begin() makes
  /// contexts of requests.
  RequestContext();
  /// `root` is the user's request that sub-requests share; by default the id itself. Both have 1
  /// to 256 bytes of UTF-8: std::invalid_argument otherwise.
  explicit RequestContext(std::string id);
  RequestContext(std::string id, std::string root);

  std::string const& id() const;
  std::string const& root() const;

  /// Each costs one load, so they can be called for every token.
  bool is_stopped() const;
  bool is_killed() const;
  /// Why it was cancelled first; `parent` when that came down the tree. Absent while live.
  std::optional<Reason> reason() const;
  /// Like reason(), but in place of `parent` the reason of the ancestor where it began.
  std::optional<Reason> cause() const;
  /// Absent while in flight.
  std::optional<Outcome> outcome() const;

  /// Requests an orderly early end; output so far stays valid. Returns true for the first call.
  bool stop_generating(Reason reason = Reason::control) const;
  bool stop(Reason reason = Reason::control) const;
  /// Requests an immediate end, without draining the rest. Returns true for the first call.
  bool kill(Reason reason = Reason::control) const;

  /// Cancels `child` whenever this is cancelled. Returns false if it is linked already or finished.
  /// std::invalid_argument: that would make a cycle, and nothing changed.
  bool link_child(RequestContext const& child) const;

  /// Calls back once, when stopped or killed (only when killed); at once if it already is.
  CallbackId on_stop(Callback callback) const;
  CallbackId on_kill(Callback callback) const;
  /// Removes a callback. Returns false if it was called, or is being called by another thread.
  bool forget(CallbackId id) const;

  /// Ready once stopped or killed, once killed, once either; the same ones at each call, so that a
  /// loop may call this. When the last handle of a context that was never cancelled goes, they get
  /// std::future_error (broken_promise).
  std::shared_future<void> stopped() const;
  std::shared_future<void> killed() const;
  std::shared_future<bool> async_killed_or_stopped() const;
  /// Block until stopped (killed); return false if the time ran out first.
  bool wait_stopped(std::chrono::milliseconds at_most) const;
  bool wait_killed(std::chrono::milliseconds at_most) const;

  /// Reports that the request moved (a token came out). This is cheap; the supervisor is notified
  /// at most twice a second.
  void progress() const;
  /// Reports that the engine released this cancelled request before the request itself ends.
  /// Returns false if it is live or finished, or if that was reported already.
  bool confirm() const;
  /// The request is over, with the outcome that its state gives: completed, or once stopped
  /// migrated (causes migrate and grace_timeout), engine_dead (that cause) or cancelled. Returns
  /// false if it was over already.
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

}  // namespace lastcall
