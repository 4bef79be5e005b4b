// A JSON Patch that turns one document into another, where the second is the first with things put
// in.
//
// Rules:
//  1. What was put in is an `add`, at its place in a list too, so that nothing that stayed is in
//     the patch: a reader sees what an injection does. A value that differs otherwise is a
//     `replace`, one that is gone a `remove`.
//  2. Applying the patch to `before` gives `after`, whatever the two are.
//
// Pure, no thread rule. Source: RFC 6902; RFC 6901 for the pointers.
#pragma once

#include "supervisor/kube/json.hpp"

namespace lastcall::kube {

Json patch_between(Json const& before, Json const& after);

}  // namespace lastcall::kube
