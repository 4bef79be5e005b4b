// The documents that an API server sends and gets, as one type. For the files of this folder.
#pragma once

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include "base/json_member.hpp"

namespace lastcall::kube {

using Json = nlohmann::ordered_json;

/// A pod may say anything of itself, orders to a terminal among it. The words of lastcall are plain
/// ASCII, so any other byte becomes a question mark.
inline std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

}  // namespace lastcall::kube
