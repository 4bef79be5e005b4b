// Whether a pod's template can be edited in place.
//
// Internal to inject. Pure, no thread rule.
#pragma once

#include "inject/injection.hpp"

namespace lastcall::inject {

/// The container of the engine; nothing where there is none, which is refused.
Node const* find_engine(Ledger const& ledger, Options const& options);

/// Whether what will be put in has a place of its own: no alias, anchor or merge key that would
/// have it elsewhere too, no name, port or path that is taken. Refuses what is not so.
bool can_be_edited(Ledger const& ledger, Node const& engine);

}  // namespace lastcall::inject
