// What is wrong with a YAML text that its parser refuses, for messages.
#pragma once

#include <string>

namespace YAML {
class Exception;
}

namespace lastcall::config {

/// Such as "not valid YAML: end of map flow not found", without the place.
std::string yaml_problem(YAML::Exception const& error);

}  // namespace lastcall::config
