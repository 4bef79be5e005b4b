#include "sdk/cpp/cancel_lines.hpp"

namespace lastcall::sdk {

void CancelLines::add(ContextState const& context) {
  if (context.level() > Level::live) {
    auto const mode =
        context.level() == Level::killed ? ipc::CancelMode::kill : ipc::CancelMode::stop;
    Reason const reason = context.reason().value_or(Reason::control);
    groups_[{mode, static_cast<ipc::CancelReason>(reason)}].push_back(context.id());
  }
}

void CancelLines::send(Outbox& outbox) && {
  for (auto& [how, ids] : groups_) {
    outbox.send_ids(std::move(ids), [&](auto some) {
      return ipc::Cancel{.ids = std::move(some), .mode = how.first, .reason = how.second};
    });
  }
}

}  // namespace lastcall::sdk
