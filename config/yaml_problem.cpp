#include "config/yaml_problem.hpp"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/exceptions.h>

namespace lastcall::config {

std::string yaml_problem(YAML::Exception const& error) {
  // yaml-cpp's own text for this is "bad file", the one that it has for a file it cannot open.
  bool const is_too_deep = dynamic_cast<YAML::DeepRecursion const*>(&error) != nullptr;
  return "not valid YAML: " +
         (is_too_deep ? std::string("too many lists or sections inside each other") : error.msg);
}

}  // namespace lastcall::config
