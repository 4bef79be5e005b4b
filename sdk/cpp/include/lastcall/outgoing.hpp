// Calls to other tiers: the ids that are sent with them, and their end when the request is
// cancelled.
//
// A worker that calls another one sends outgoing_headers() along and makes the call while an
// AbortOnStop lives. When the request is cancelled here, the call is cut and its connection closes;
// that notifies the other side, in whatever pod it runs, and is a kill there. To send a stop that
// arrives as a stop, use a StopChannel (<lastcall/stop_channel.hpp>), and an AbortOnKill, which
// cuts only at a kill. <lastcall/curl.hpp> does this for libcurl.
//
// Rules:
//  1. A call has an id of its own, CALLER/N, because the caller's id may be live on the other side,
//     too.
//  2. `abort` is called at most once, and never after ~AbortOnStop() has returned.
//
// Thread rule: functions from any thread; an AbortOnStop belongs to the thread that made it, and
// `abort` runs on the thread that cancels. C++17. Source: docs/ipc.md, 'Across pods'.
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

/// For the side that is called: returns the id in a value of X-Lastcall-Root or X-Lastcall-Parent.
/// A value without percent-encoding is unchanged.
std::string id_from_header(std::string_view value);

class AbortOnStop {
 public:
  /// Calls `abort` when the context is stopped or killed; at once if it already is. `abort` ends
  /// the call from outside: for example, it posts to an event loop, wakes a poll, or shuts a socket
  /// down. It must not block, throw, or destroy this object.
  AbortOnStop(RequestContext context, std::function<void()> abort);
  /// Waits for an `abort` that runs on another thread.
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

/// The same, but `abort` is called only at a kill.
class AbortOnKill : public AbortOnStop {
 public:
  AbortOnKill(RequestContext context, std::function<void()> abort)
      : AbortOnStop(std::move(context), std::move(abort), At::kill) {}
};

}  // namespace lastcall
