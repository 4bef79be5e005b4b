// lastcall-kube: the program that `lastcall inject` and `lastcall rollout` become, and the plugin
// for `kubectl lastcall`.
#include <exception>
#include <iostream>
#include <string>
#include <string_view>

#include "base/standard_descriptors.hpp"
#include "base/undumpable.hpp"
#include "supervisor/cli/launch.hpp"
#include "supervisor/kube/commands.hpp"

namespace {

/// The name by which the user called the program: `lastcall inject` passes it as our argv[0].
std::string name_of(std::string_view called) {
  called.remove_prefix(called.rfind('/') + 1);  // npos + 1 is 0
  if (called == "kubectl-lastcall") {
    return "kubectl lastcall";
  }
  return called == "lastcall" ? "lastcall" : "lastcall-kube";
}

}  // namespace

int main(int argc, char** argv) {
  lastcall::become_undumpable();  // it holds tokens of API servers and keys of the webhook
  lastcall::reserve_standard_descriptors();
  std::string const name = name_of(argc > 0 ? argv[0] : "");
  try {
    lastcall::cli::Program const program{
        .name = name,
        .description = "The subcommands of lastcall that use Kubernetes manifests or API servers",
        .version = lastcall::kube::version(),
        .commands = lastcall::kube::commands()};
    return lastcall::cli::run_commands(program, argc, argv, std::cout, std::cerr,
                                       lastcall::cli::take_launch());
  } catch (std::exception const& error) {
    std::cerr << name << ": unexpected failure: " << error.what() << '\n';
    return lastcall::cli::kExitUnexpected;
  }
}
