#include "core/recovery.hpp"

#include <string_view>

namespace lastcall::lifecycle {

void Recovery::fingerprint(Mixer& m, bool shim_is_known) const {
  m.all(stage_, next_deadline(), peers_until_, misses_peers() ? expected_peers_ : 0);
  m.put(misses_peers_);
  if (!shim_is_known) {
    m.all(decided_, std::string_view(boot_), own_container_);
  }
  held_.fingerprint(m);
}

}  // namespace lastcall::lifecycle
