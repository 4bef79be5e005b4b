// `lastcall inject`: adds lastcall to the engine's pod in manifests that others wrote.
//
// It reads files or standard input, and prints them with the sidecar added; for a ResourceList it
// acts as a KRM function. Exit code 0: printed; 2: refused, with each reason on `err` and nothing
// printed.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "inject/inject.hpp"

namespace lastcall::kube {

struct InjectOptions {
  std::vector<std::string> files;  // "-" or no file: standard input
  std::optional<std::string> config;
  std::vector<std::string> templates;  // "KIND=PATH"
  bool diff = false;
  bool uninject = false;
  inject::Options inject;
};

int run_inject(InjectOptions const& options, std::ostream& out, std::ostream& err);

}  // namespace lastcall::kube
