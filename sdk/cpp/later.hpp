// The calls that code under the session's mutex leaves to be made after it was released.
//
// Rule: the program's code runs in such a call, or in the destruction of what a call has captured;
// so a call may also do nothing but keep something alive until then.
//
// Pure type, no thread rule. Source: session_lock.hpp.
#pragma once

#include <functional>
#include <vector>

namespace lastcall::sdk {

using Later = std::vector<std::function<void()>>;

}  // namespace lastcall::sdk
