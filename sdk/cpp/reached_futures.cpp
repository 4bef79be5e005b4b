#include "sdk/cpp/reached_futures.hpp"

#include <memory>

#include "sdk/cpp/context_state.hpp"

namespace lastcall::sdk {

template <typename Result>
std::shared_future<Result> ReachedFutures::once(std::shared_future<Result>& kept,
                                                ContextState& context, Level level, auto... value) {
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
  context.subscribe(level, [=](RequestContext const&) { promise->set_value(value...); });
  return future;
}

std::shared_future<void> ReachedFutures::reached(ContextState& context, Level level) {
  return once(level == Level::killed ? killed_ : stopped_, context, level);
}

std::shared_future<bool> ReachedFutures::stopped_or_killed(ContextState& context) {
  return once(either_, context, Level::stopped, true);
}

}  // namespace lastcall::sdk
