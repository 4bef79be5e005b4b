// The requests that have made progress since the supervisor was last notified of it.
//
// Rules:
//  1. The supervisor is notified every kProgressEvery at most, in as few lines as the ids need.
//  2. A context's `moved` is true while it is in here, so a second token takes no lock.
//  3. A context may be the last handle of the program's own data: it is released through a Later.
//
// Thread rule: under the session's mutex. Source: docs/ipc.md, 'request.progress'.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sdk/cpp/context_state.hpp"
#include "sdk/cpp/later.hpp"
#include "sdk/cpp/outbox.hpp"

namespace lastcall::sdk {

inline constexpr std::chrono::milliseconds kProgressEvery{500};

class ProgressReports {
 public:
  explicit ProgressReports(Outbox& outbox) : outbox_(outbox) {}

  void add(ContextPtr const& context);
  /// Notifies the supervisor if that is due, of the contexts for which `is_live` is true; otherwise
  /// returns the time at which it is due.
  template <typename IsLive>
  std::optional<Clock::time_point> tick(Clock::time_point now, IsLive is_live, Later& later) {
    if (moved_.empty() || !outbox_.is_open()) {
      return std::nullopt;
    }
    if (now < moved_at_ + kProgressEvery) {
      return moved_at_ + kProgressEvery;
    }
    std::vector<std::string> ids;
    for (ContextPtr const& context : moved_) {
      context->moved = false;
      if (is_live(*context)) {
        ids.push_back(context->id());
      }
    }
    clear(later);
    moved_at_ = now;
    send(std::move(ids));
    return std::nullopt;
  }
  /// The connection has ended.
  void lost(Later& later);
  void clear(Later& later);

 private:
  void send(std::vector<std::string> ids);

  Outbox& outbox_;
  std::vector<ContextPtr> moved_;
  Clock::time_point moved_at_{};
};

}  // namespace lastcall::sdk
