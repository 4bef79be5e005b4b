#include "sdk/cpp/outbox.hpp"

#include "ipc/codec.hpp"

namespace lastcall::sdk {

bool Outbox::send(ipc::ToSupervisor const& message, std::optional<std::uint64_t> seq) {
  if (!is_open() || connection_->is_overflowing() ||
      !ipc::encode(message, seq, connection_->out())) {
    return false;
  }
  connection_->wake();
  return true;
}

}  // namespace lastcall::sdk
