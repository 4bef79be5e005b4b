#include "router/records.hpp"

namespace lastcall::router {

void Records::set(Place& place, std::size_t bytes) {
  budget_.set(&place, place.bytes_, bytes);
  place.bytes_ = bytes;
  if (bytes > most_ / kShare) {
    drop(place);
  } else if (auto const largest = budget_.excess()) {
    drop(*static_cast<Place*>(*largest));
  }
  changed_(budget_.used(), dropped_);
}

/// One that is needed is looked at again when its size changes.
void Records::drop(Place& place) {
  budget_.set(&place, place.bytes_, 0);
  place.bytes_ = 0;
  dropped_ += place.owner_.forget_record() ? 1 : 0;
}

}  // namespace lastcall::router
