// Reviews of pods, as an API server sends them, derived from a grammar: what a pod may have, in any
// combination, with at most one part of another kind.
#pragma once

#include <string>

#include "tests/fuzz/choices.hpp"

namespace lastcall::fuzz {

std::string derive_review(Choices& choose);

}  // namespace lastcall::fuzz
