#include "shim/private_directory.hpp"

#include <unistd.h>

#include "shim/directory.hpp"

namespace lastcall::shim {

void remove_private_directory(char const* path) {
  if (path == nullptr) {
    return;
  }
  {
    Directory listing(path);
    while (char const* name = listing.is_open() ? listing.next() : nullptr) {
      unlinkat(listing.descriptor(), name, 0);  // this call refuses `.` and `..`
    }
  }
  rmdir(path);
}

}  // namespace lastcall::shim
