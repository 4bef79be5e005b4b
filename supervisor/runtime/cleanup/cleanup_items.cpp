#include "supervisor/runtime/cleanup/cleanup_items.hpp"

#include <memory>
#include <utility>

#include "core/report.hpp"
#include "supervisor/runtime/cleanup/cleanup_paths.hpp"

namespace lastcall::runtime {

CleanupItems::CleanupItems(boost::asio::any_io_executor const& executor,
                           config::Cleanup const& cleanup, std::vector<std::string> kept,
                           EventSink& events, telemetry::Log& log, Others others)
    : events_(events),
      log_(log),
      others_(std::move(others)),
      paths_(cleanup.paths),
      kept_(std::move(kept)),
      hooks_(executor, cleanup.hooks, log),
      thread_(executor, "cleanup") {}

void CleanupItems::start(lifecycle::StartCleanup const& order) {
  auto const settled = [this, item = order.item](ItemResult result) {
    settle(item, std::move(result));
  };
  switch (order.item) {
    case lifecycle::CleanupItem::sdk:
      others_.sdk(order.deadline);
      return;
    case lifecycle::CleanupItem::hooks:
      hooks_.run(order.deadline, settled);
      return;
    case lifecycle::CleanupItem::events:
      others_.events(order.deadline, settled);
      return;
    case lifecycle::CleanupItem::registries:
      others_.registries(order.deadline, settled);
      return;
    case lifecycle::CleanupItem::engine:
      return;  // the core does it itself by ordering signals
    case lifecycle::CleanupItem::paths:
      remove_files(order.deadline, settled);
      return;
  }
}

void CleanupItems::remove_files(lifecycle::Instant deadline, CleanupHooks::Done done) {
  auto const result = std::make_shared<ItemResult>();
  thread_.run([result, patterns = paths_, kept = kept_,
               deadline] { *result = remove_paths(patterns, kept, deadline); },
              [result, done = std::move(done)] { done(std::move(*result)); });
}

void CleanupItems::settle(lifecycle::CleanupItem item, ItemResult result) {
  bool const is_good = result.outcome == lifecycle::ItemOutcome::completed ||
                       result.outcome == lifecycle::ItemOutcome::skipped;
  log_.write(is_good ? telemetry::LogLevel::info : telemetry::LogLevel::warning, "cleanup",
             {{"item", name(item)}, {"outcome", name(result.outcome)}, {"detail", result.detail}});
  events_.feed(lifecycle::CleanupSettled{item, result.outcome, std::move(result.detail)});
}

}  // namespace lastcall::runtime
