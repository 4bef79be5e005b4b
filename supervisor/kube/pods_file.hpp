// Reads the parts that are put into pods from a file: `pods` of the values of
// charts/lastcall-injector, so that the webhook and the policy of one chart inject the same.
//
// Rules: the file is read as strictly as lastcall's configuration: unknown keys, quoted numbers and
// values of another type are problems with their places, all reported at once. A missing key has
// its default. An image without tag and digest gets this program's version.
//
// Pure, no thread rule. Source: charts/lastcall-injector/values.schema.json.
#pragma once

#include <string>
#include <string_view>

#include "config/problem.hpp"
#include "inject/pod_defaults.hpp"

namespace lastcall::kube {

/// `source` is the file's name in problems; `version` is the default tag of images.
config::Problems read_pods_file(std::string_view text, std::string const& source,
                                std::string const& version, inject::PodDefaults& pods);

}  // namespace lastcall::kube
