// What is wrong with a YAML text that its parser refuses, for messages.
#pragma once

#include <string>

namespace YAML {
class Exception;
}

namespace lastcall::config {

/// Such as "not valid YAML: end of map flow not found", without the place.
std::string yaml_problem(YAML::Exception const& error);

/// Whether the text ends inside of a quoted scalar. yaml-cpp ends such a scalar silently at a line
/// break that ends the text, so that everything after a forgotten quote would be part of it.
bool ends_in_quotes(std::string const& text);

}  // namespace lastcall::config
