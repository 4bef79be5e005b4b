// lastcall: one binary, one subcommand for each thing it can do.
#include <exception>
#include <iostream>

#include "supervisor/cli/app.hpp"

int main(int argc, char** argv) {
  try {
    return lastcall::cli::run_app(argc, argv, std::cout, std::cerr);
  } catch (std::exception const& error) {
    std::cerr << "lastcall: unexpected failure: " << error.what() << '\n';
    return 1;
  }
}
