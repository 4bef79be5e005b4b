#include "router/records.hpp"

#include <optional>

namespace lastcall::router {

void Records::set(Place& place, std::size_t bytes) {
  place.id_ = place.id_ == 0 ? ++last_id_ : place.id_;
  place.bytes_ = bytes;
  if (bytes == 0 || bytes > most_ / kShare) {
    budget_.leave(place.id_);
    places_.erase(place.id_);
    if (bytes != 0) {
      drop(place);
    }
  } else {
    places_[place.id_] = &place;
    if (std::optional<std::uint64_t> const largest = budget_.set(place.id_, bytes)) {
      auto const found = places_.find(*largest);
      Place& dropped = *found->second;
      places_.erase(found);
      drop(dropped);
    }
  }
  changed_(budget_.used(), dropped_);
}

/// One that is needed is looked at again when its size changes.
void Records::drop(Place& place) {
  place.bytes_ = 0;
  dropped_ += place.owner_.forget_record() ? 1 : 0;
}

}  // namespace lastcall::router
