// How a peer of a simulated world reads the cancels that the core has for it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "core/lifecycle.hpp"

namespace lastcall::simulation {

/// A cancel as a peer reads it from its socket.
struct Delivered {
  lifecycle::PeerId peer = 0;
  std::string id;
  lifecycle::CancelMode mode = lifecycle::CancelMode::stop;
  lifecycle::CancelReason reason = lifecycle::CancelReason::control;
};

/// All that there are, at most `batch` at a time, each given to `take`.
template <typename Take>
void read_cancels(lifecycle::Lifecycle& core, lifecycle::PeerId peer, std::uint32_t batch,
                  Take take) {
  while (true) {
    lifecycle::CancelBatch const some = core.take_cancels(peer, batch);
    if (some.ids.empty()) {
      return;
    }
    for (auto const id : some.ids) {
      take(Delivered{peer, std::string(id), some.mode, some.reason});
    }
  }
}

}  // namespace lastcall::simulation
