// Calls to other tiers: the ids that go with them, and their end when the request is cancelled.
//
// A worker that calls another one sends outgoing_headers() along and makes the call while an
// AbortOnStop lives. When the request is cancelled here, the call is cut and its connection closes;
// that notifies the other side, on whatever pod it runs, and is a kill there. To send a stop as a
// stop, use a StopChannel (<lastcall/stop_channel.hpp>), and AbortOnKill, which cuts.
// <lastcall/curl.hpp> does this for libcurl.
//
// Rules:
//  1. A call has an id of its own, CALLER/N, because the caller's may be live on the other side,
//     too.
//  2. `abort` is called at most once, and never after ~AbortOnStop() has returned.
//
// Thread rule: functions from any thread; an AbortOnStop belongs to the thread that made it, and
// `abort` runs on the one that cancels. C++17. Source: docs/ipc.md, 'Across pods'.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lastcall/request_context.hpp>

namespace lastcall {

/// The headers that show the other side which request its work is part of: X-Request-Id is the
/// call's own id, X-Lastcall-Root and X-Lastcall-Parent are the user's request and the caller.
std::vector<std::pair<std::string, std::string>> outgoing_headers(RequestContext const& context);

/// For the called side: returns the id in a value of X-Lastcall-Root or X-Lastcall-Parent. A value
/// without percent-encoding is unchanged.
std::string id_from_header(std::string_view value);

class AbortOnStop {
 public:
  /// Calls `abort` when the context is stopped or killed; at once if it already is. `abort` ends
  /// the call from outside: it posts to an event loop, wakes a poll, shuts a socket down. It must
  /// not block, not throw, and not destroy this.
  AbortOnStop(RequestContext context, std::function<void()> abort);
  /// The destructor waits for an `abort` that runs on another thread.
  ~AbortOnStop();
  AbortOnStop(AbortOnStop const&) = delete;
  AbortOnStop& operator=(AbortOnStop const&) = delete;

 protected:
  enum class At { stop, kill };
  AbortOnStop(RequestContext context, std::function<void()> abort, At at);

 private:
  struct Shared;

  RequestContext const context_;
  std::shared_ptr<Shared> const shared_;
  RequestContext::CallbackId const callback_;
};

/// The same, but a stop does not call `abort`.
class AbortOnKill : public AbortOnStop {
 public:
  AbortOnKill(RequestContext context, std::function<void()> abort)
      : AbortOnStop(std::move(context), std::move(abort), At::kill) {}
};

}  // namespace lastcall
