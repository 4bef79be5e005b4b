// Makes a JSON Patch that turns one document into another, usually the first one with additions.
//
// Rules:
//  1. An addition is an `add`, also at its place in a list, so that the patch contains nothing that
//     stayed: a reader sees what an injection does. A value that differs otherwise is a `replace`,
//     a missing one a `remove`.
//  2. Applying the patch to `before` gives `after`, whatever the two are.
//
// Pure, no thread rule. Source: RFC 6902; RFC 6901 for the pointers.
#pragma once

#include "supervisor/kube/json.hpp"

namespace lastcall::kube {

Json patch_between(Json const& before, Json const& after);

}  // namespace lastcall::kube
