// A hash of a step's actions, to compare a replay with what happened without keeping the text.
// Pure function, no thread rule.
#pragma once

#include <cstdint>
#include <span>

#include "core/action.hpp"

namespace lastcall::simulation {

std::uint64_t hash_of(std::span<lifecycle::Action const> actions);

}  // namespace lastcall::simulation
