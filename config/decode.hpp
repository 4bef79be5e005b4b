// Decodes a document onto a configuration, strictly, and collects every problem.
//
// Rules:
//  1. Keys that the document does not name keep their value: a file is decoded onto the defaults,
//     and a variable or flag onto what the file gave.
//  2. A problem never stops the rest; the configuration is unusable when there was any.
//  3. A list replaces the list before it; nothing is merged inside lists.
//  4. `key:` without a value means: no keys (sections), unset (optional keys), a problem (others).
//
// Internal to config. Pure values, no thread rule.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "config/document.hpp"
#include "config/keys.hpp"
#include "config/problem.hpp"
#include "config/schema.hpp"

namespace lastcall::config {

/// Where each key that was given stands; for warnings about what its value means.
using Places = std::map<std::string, Place, std::less<>>;

/// Where the key is, or the nearest part of its path that was given; else an empty one.
Place nearest_place(Places const& places, std::string_view key);

/// Onto what `keys` are bound to.
void decode(Node const& root, Keys const& keys, Problems& problems, Places& places);
void decode(Node const& root, Config& config, Problems& problems, Places& places);

}  // namespace lastcall::config
