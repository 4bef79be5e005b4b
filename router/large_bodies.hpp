// Work on a client's body whose memory grows with that body: more of it may be needed than there
// is.
//
// As much of it as possible is done before a connection to a worker is taken, so that the request
// can be refused, or its answer ended, as if no worker could be reached. The proof that an answer
// continues is prepared when its next worker answers, and the answer ends if there is no memory for
// it. A lack of memory elsewhere ends the router.
//
// No thread rule. Source: docs/router.md, 'What is routed'.
#pragma once

#include <new>

namespace lastcall::router {

/// Returns false if `work` had no memory.
template <class Work>
bool has_memory_for(Work const& work) {
  try {
    work();
    return true;
  } catch (std::bad_alloc const&) {
    return false;
  }
}

}  // namespace lastcall::router
