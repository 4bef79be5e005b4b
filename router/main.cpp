// lastcall-router: one front for many workers.
#include <exception>
#include <iostream>

#include "base/standard_descriptors.hpp"
#include "base/undumpable.hpp"
#include "router/command.hpp"

int main(int argc, char** argv) {
  lastcall::become_undumpable();
  lastcall::reserve_standard_descriptors();
  try {
    return lastcall::router::run_command(argc, argv, std::cout, std::cerr);
  } catch (std::exception const& error) {
    std::cerr << "lastcall-router: unexpected failure: " << error.what() << '\n';
    return 70;
  }
}
