#include "discovery/registry.hpp"

namespace lastcall::discovery {

bool Registry::disconnect(TimePoint, RegistryDone) {
  return false;
}

}  // namespace lastcall::discovery
