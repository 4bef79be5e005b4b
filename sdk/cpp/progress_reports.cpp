#include "sdk/cpp/progress_reports.hpp"

namespace lastcall::sdk {

void ProgressReports::add(ContextPtr const& context) {
  if (!outbox_.is_open() || context->moved.exchange(true)) {
    return;
  }
  moved_.push_back(context);
  if (moved_.size() == 1) {
    outbox_.wake();
  }
}

void ProgressReports::lost(Later& later) {
  for (ContextPtr const& context : moved_) {
    context->moved = false;
  }
  clear(later);
}

void ProgressReports::clear(Later& later) {
  later.push_back([kept = std::move(moved_)] {});  // its destruction may run the program's code
  moved_.clear();
}

void ProgressReports::send(std::vector<std::string> ids) {
  outbox_.send_ids(std::move(ids), [](auto some) { return ipc::RequestProgress{std::move(some)}; });
}

}  // namespace lastcall::sdk
