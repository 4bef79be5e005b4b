#include "core/recovery.hpp"

#include <string_view>
#include <utility>

#include "core/member_mixer.hpp"

namespace lastcall::lifecycle {

Recovery::Recovery() = default;
Recovery::Recovery(Recovery const& other) = default;
Recovery::~Recovery() = default;

bool Recovery::hold(Event const& event) {
  if (is_over()) {
    return false;
  }
  held_.push_back(event);
  return true;
}

std::vector<Event> Recovery::take_held() {
  return std::exchange(held_, {});
}

void Recovery::fingerprint(Mixer& m, bool shim_is_known) const {
  m.all(stage_, next_deadline(), peers_until_, misses_peers() ? expected_peers_ : 0);
  m.put(misses_peers_);
  if (!shim_is_known) {
    m.all(decided_, std::string_view(boot_), own_container_);
  }
  for (Event const& event : held_) {
    mix(m, event);
  }
}

}  // namespace lastcall::lifecycle
