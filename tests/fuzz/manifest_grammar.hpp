// Kubernetes manifests in every layout that YAML has for them: the same objects in lines or in
// brackets, with any width of indent, comments, quotes, block scalars, line ends and marks.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/choices.hpp"

namespace lastcall::fuzz {

/// A value of a manifest, without a layout.
struct Thing {
  enum class Kind { text, word, list, map, nothing };

  Kind kind = Kind::text;
  std::string text;  // of a word: as it is written, a number for instance
  std::vector<Thing> items = {};
  std::vector<std::pair<std::string, Thing>> entries = {};
};

/// A stream of documents, one of which has an engine that can be injected into.
std::string derive_manifests(Choices& choose);

}  // namespace lastcall::fuzz
