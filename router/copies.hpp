// The copies of a request's body for a worker, which may need more memory than there is.
//
// They are made before a connection is taken, so that the request can still be refused then. At any
// other place a lack of memory ends the router.
//
// No thread rule. Source: docs/router.md, 'What is routed'.
#pragma once

#include <new>

namespace lastcall::router {

/// Nothing was sent to a worker, and no connection was taken.
class NoMemoryForCopies : public std::bad_alloc {};

/// Returns the result of `make`, and throws NoMemoryForCopies if it has no memory.
template <class Make>
auto made_or_refused(Make const& make) {
  try {
    return make();
  } catch (std::bad_alloc const&) {
    throw NoMemoryForCopies();
  }
}

}  // namespace lastcall::router
