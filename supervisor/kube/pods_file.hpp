// The parts that are put into pods, as a file: `pods` of the values of charts/lastcall-injector, so
// that the webhook and the policy of one chart put in the same.
//
// Rules: strict as lastcall's configuration is: unknown keys, a quoted number and a value of
// another kind are problems with their place, all of them at once. What is left out has the
// default. An image without tag and digest has this program's version.
//
// Pure, no thread rule. Source: charts/lastcall-injector/values.schema.json.
#pragma once

#include <string>
#include <string_view>

#include "config/problem.hpp"
#include "inject/pod_defaults.hpp"

namespace lastcall::kube {

/// `source` is what problems call the file; `version` is that of the images.
config::Problems read_pods_file(std::string_view text, std::string const& source,
                                std::string const& version, inject::PodDefaults& pods);

}  // namespace lastcall::kube
