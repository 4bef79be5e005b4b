// Checks whether a pod's template can be edited in place.
//
// Internal to inject. Pure, no thread rule.
#pragma once

#include "inject/injection.hpp"

namespace lastcall::inject {

/// The container of the engine; null if there is none, which is refused.
Node const* find_engine(Ledger const& ledger, Options const& options);

/// Whether everything that will be inserted has a place of its own: no alias, anchor or merge key
/// would repeat it elsewhere, and no name, port or path is already in use. Refuses the template
/// otherwise.
bool can_be_edited(Ledger const& ledger, Node const& engine);

}  // namespace lastcall::inject
