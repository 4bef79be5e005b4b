#include "router/records.hpp"

namespace lastcall::router {

void Records::set(RecordOwner& owner, std::size_t bytes) {
  budget_.set(owner, bytes);
  if (bytes > most_ / kShare) {
    drop(owner);
  } else if (auto* const largest = budget_.excess()) {
    drop(static_cast<RecordOwner&>(*largest));
  }
  changed_(budget_.used(), dropped_);
}

/// A record that is needed now is examined again when its size changes.
void Records::drop(RecordOwner& owner) {
  budget_.set(owner, 0);
  dropped_ += owner.forget_record() ? 1 : 0;
}

}  // namespace lastcall::router
