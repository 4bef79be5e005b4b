// lastcall-shim: PID 1 of an engine container.
//
// The program takes the signals, reads the command line, runs the loop until everything that was
// started is gone, and exits with the code that describes what happened.
//
// - state_table: what the shim does in each state
// - deadline_rules: when it acts without an order
// - shim: the loop
// - parts: everything that is known, part by part; the rules about all parts together are in
//   - signals, children, orders: what comes in
//   - actions: carries out the table
//   - tree_rules, leaving: the end of the tree, and of the shim
// - link: the supervisor's socket
// - exit_code: the code if there was no order
// - engine, service: the two children
// - launch, spawn: how a child is started
// - process_tree: all descendants, by /proc
// - json, messages: the wire
// - install, prestop: what else the program does, when it is not PID 1
//
// libc only, no exceptions, no heap after the start, one thread.
#include <new>

#include <unistd.h>

#include "base/standard_descriptors.hpp"
#include "base/undumpable.hpp"
#include "shim/install.hpp"
#include "shim/launch.hpp"
#include "shim/log.hpp"
#include "shim/options.hpp"
#include "shim/prestop.hpp"
#include "shim/private_directory.hpp"
#include "shim/shim.hpp"

namespace lastcall::shim {
namespace {

/// It is in static storage, so that the buffers for the wire need no page before they are used.
alignas(Shim) unsigned char shim_storage[sizeof(Shim)];
Options options;

int print(std::string_view text) {
  return write(STDOUT_FILENO, text.data(), text.size()) < 0 ? kExitFatal : 0;
}

int main_of_shim(int argc, char** argv) {
  Launch launch;
  int const signals = launch.take_signals();
  TextOf<512> error;
  if (!parse_options(argc, argv, options, error) || !read_environment(options, error)) {
    LogLine() << error.view();
    return kExitUsage;
  }
  launch.release(options.held);
  switch (options.task) {
    case Options::Task::help:
      return print(kUsage);
    case Options::Task::version:
      return print("lastcall-shim " LASTCALL_VERSION "\n");
    case Options::Task::install:
      return install_into(options.install_dir);
    case Options::Task::prestop:
      return call_prestop(options);
    case Options::Task::run:
      break;
  }
  become_subreaper();
  auto* const shim = new (shim_storage) Shim(options, launch, signals, environ);
  return shim->run();
}

}  // namespace
}  // namespace lastcall::shim

int main(int argc, char** argv) {
  using namespace lastcall::shim;
  // The environment may have tokens and passwords. Other processes in the pod may have the same
  // uid, and with one PID namespace they see this one, whose root leads to the operators' socket.
  lastcall::become_undumpable();
  lastcall::reserve_standard_descriptors();
  Launch::close_inherited_descriptors();
  int const code = main_of_shim(argc, argv);
  remove_private_directory(options.private_directory);
  _exit(code);
}
