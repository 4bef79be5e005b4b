// `lastcall inject`: puts lastcall beside the engine in manifests that others wrote.
//
// Reads files, or standard input, and prints them with the sidecar in them; with a ResourceList it
// is a KRM function. Exit code 0: printed; 2: refused, each reason on `err`, and nothing printed.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "inject/inject.hpp"

namespace lastcall::kube {

struct InjectOptions {
  std::vector<std::string> files;  // "-" is standard input; none: standard input
  std::optional<std::string> config;
  std::vector<std::string> templates;  // "KIND=PATH"
  bool diff = false;
  bool uninject = false;
  inject::Options inject;
};

int run_inject(InjectOptions const& options, std::ostream& out, std::ostream& err);

}  // namespace lastcall::kube
