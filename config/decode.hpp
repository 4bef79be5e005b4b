// Decodes a document onto a configuration, strictly, and collects every problem.
//
// Rules:
//  1. Keys that the document does not name keep their value: a file is decoded onto the defaults,
//     and a variable or flag onto the result of the file.
//  2. A problem does not stop the decoding of the rest; with any problem the configuration must not
//     be used.
//  3. A list replaces the list before it; nothing is merged inside lists.
//  4. `key:` without a value means no keys for a section, unset for an optional key, and is a
//     problem for any other key.
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

/// The place of each key that was given, for later warnings about its value.
using Places = std::map<std::string, Place, std::less<>>;

/// The place of the key, or of the longest part of its path that was given; otherwise empty.
Place nearest_place(Places const& places, std::string_view key);

/// Decodes onto the members that `keys` are bound to.
void decode(Node const& root, Keys const& keys, Problems& problems, Places& places);
void decode(Node const& root, Config& config, Problems& problems, Places& places);

}  // namespace lastcall::config
