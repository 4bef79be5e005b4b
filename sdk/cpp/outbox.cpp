#include "sdk/cpp/outbox.hpp"

#include <utility>

#include "ipc/codec.hpp"

namespace lastcall::sdk {

bool Outbox::send(ipc::ToSupervisor const& message, std::optional<std::uint64_t> seq) {
  if (!is_open() || connection_->output().is_overflowing() ||
      !ipc::encode(message, seq, connection_->output().lines())) {
    return false;
  }
  connection_->wake();
  return true;
}

void Outbox::send_ids(std::vector<std::string> ids,
                      std::function<ipc::ToSupervisor(std::vector<std::string>)> const& make) {
  constexpr std::size_t kRoom = ipc::kMaxLine - 256;
  constexpr std::size_t kLongestEscape = 6;  // \u00XX
  std::vector<std::string> batch;
  std::size_t size = 0;
  for (std::string& id : ids) {
    std::size_t const needs = kLongestEscape * id.size() + 3;
    if (size + needs > kRoom) {
      send(make(std::exchange(batch, {})));
      size = 0;
    }
    size += needs;
    batch.push_back(std::move(id));
  }
  if (!batch.empty()) {
    send(make(std::move(batch)));
  }
}

}  // namespace lastcall::sdk
