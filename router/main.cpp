// lastcall-router: one front for many workers.
#include <exception>
#include <iostream>
#include <new>

#include "base/standard_descriptors.hpp"
#include "base/undumpable.hpp"
#include "router/command.hpp"

namespace {

constexpr int kFailed = 70;

}  // namespace

int main(int argc, char** argv) {
  lastcall::become_undumpable();
  lastcall::reserve_standard_descriptors();
  try {
    return lastcall::router::run_command(argc, argv, std::cout, std::cerr);
  } catch (std::bad_alloc const&) {
    std::cerr << "lastcall-router: no memory is left: raise the limit of the process, or lower "
                 "limits.max_buffer_memory\n";
    return kFailed;
  } catch (std::exception const& error) {
    std::cerr << "lastcall-router: unexpected failure: " << error.what() << '\n';
    return kFailed;
  }
}
