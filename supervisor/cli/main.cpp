// lastcall: one binary with one subcommand for each of its tasks. The launcher becomes it.
#include <exception>
#include <iostream>

#include "base/standard_descriptors.hpp"
#include "base/undumpable.hpp"
#include "supervisor/cli/app.hpp"
#include "supervisor/cli/launch.hpp"

int main(int argc, char** argv) {
  lastcall::become_undumpable();  // the environment holds secrets
  try {
    lastcall::cli::Launch const launch = lastcall::cli::take_launch();
    lastcall::reserve_standard_descriptors();
    return lastcall::cli::run_app(argc, argv, std::cout, std::cerr, launch);
  } catch (std::exception const& error) {
    std::cerr << "lastcall: unexpected failure: " << error.what() << '\n';
    return lastcall::cli::kExitUnexpected;
  }
}
