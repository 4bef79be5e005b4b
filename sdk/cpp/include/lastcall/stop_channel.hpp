// How a stop reaches another tier independently of the connection of the call that it stops.
//
// A closed connection is a kill on the other side. A caller that wants an orderly early end there
// sends the header of a StopChannel with its call; to stop it, the caller sends a DELETE of the
// channel's path to the server of the call, and continues to read. A server that takes part answers
// 204; if that answer does not come within a second, the caller closes the call.
// <lastcall/curl.hpp> does this for libcurl.
//
//   lastcall::StoppableCalls calls;                                   // once a server
//   // with a request:
//   lastcall::StoppableCalls::Call const stoppable(calls, channel_header, request.context());
//   // with any DELETE: answer 204 if calls.stop(path), else as ever
//
// Thread rule: any thread. C++17. Source: docs/ipc.md, 'Across pods'.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <lastcall/request_context.hpp>

namespace lastcall {

/// The status with which the other side reports that it has accepted a stop.
inline constexpr int kStopTaken = 204;

/// The caller's side of the channel of one call.
class StopChannel {
 public:
  StopChannel();

  /// The header that is sent with the call.
  std::pair<std::string, std::string> header() const { return {"X-Lastcall-Channel", secret_}; }
  /// The path whose DELETE, at the server of the call, stops the call there.
  std::string path() const;

 private:
  std::string secret_;
};

/// The calls that their callers may stop, for the side that is called.
class StoppableCalls {
 public:
  /// One such call, for the lifetime of this object.
  class Call {
   public:
    /// `channel` is the value of the call's X-Lastcall-Channel. Without a channel, or with one that
    /// could be guessed, the call cannot be stopped.
    Call(StoppableCalls& calls, std::string_view channel, RequestContext context);
    ~Call();
    Call(Call const&) = delete;
    Call& operator=(Call const&) = delete;

   private:
    StoppableCalls& calls_;
    std::string channel_;  // empty: the call cannot be stopped
  };

  /// A DELETE of this path has arrived. Returns true if it has stopped one of these calls, with the
  /// reason `parent`, and false if it belongs to none of them and is an ordinary request.
  bool stop(std::string_view path);

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, RequestContext> calls_;
};

}  // namespace lastcall
