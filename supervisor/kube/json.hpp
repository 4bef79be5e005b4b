// The documents that an API server sends and gets, as one type. For the files of this folder.
#pragma once

#include <nlohmann/json.hpp>

#include "base/json_member.hpp"

namespace lastcall::kube {

using Json = nlohmann::ordered_json;

}  // namespace lastcall::kube
