// The type for documents that an API server sends and receives. Only for the files of this folder.
#pragma once

#include <nlohmann/json.hpp>

#include "base/json_member.hpp"

namespace lastcall::kube {

using Json = nlohmann::ordered_json;

}  // namespace lastcall::kube
