// The futures that become ready when a request is stopped or killed.
//
// Rule: each exists once and has one subscriber, however often it is requested.
//
// Thread rule: any thread, without the TreeLock. Source: RequestContext::stopped().
#pragma once

#include <future>

#include "sdk/cpp/cancellation.hpp"

namespace lastcall::sdk {

class ContextState;

class ReachedFutures {
 public:
  // `context` holds this object.
  std::shared_future<void> reached(ContextState& context, Level level);
  std::shared_future<bool> stopped_or_killed(ContextState& context);

 private:
  template <typename Result>
  static std::shared_future<Result> once(std::shared_future<Result>& kept, ContextState& context,
                                         Level level, auto... value);

  std::shared_future<void> stopped_, killed_;  // not valid until it is requested
  std::shared_future<bool> either_;
};

}  // namespace lastcall::sdk
