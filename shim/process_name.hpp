// The name by which people know a process: the title that it gave itself or, without one, the
// kernel's name.
//
// Rules: 1. a title is a command line of one word that is not a path: Python's setproctitle writes
// `VLLM::EngineCore` there, while the kernel's name holds only 15 bytes of it; 2. Python's resource
// tracker, which the kernel calls `python3`, is recognized by its module; 3. a name has at most 64
// bytes; 4. it is empty if the process is gone. Source: proc(5).
#pragma once

#include <cstddef>
#include <string_view>

#include <sys/types.h>

#include "shim/text.hpp"

namespace lastcall::shim {

inline constexpr std::size_t kLongestProcessName = 64;

/// The content of /proc/PID/`entry`, cut to the buffer; empty if the process is gone.
std::string_view read_process_file(pid_t pid, std::string_view entry, char* buffer,
                                   std::size_t size);

/// Appends the name. Returns true if it is a title.
bool append_process_name(Text& out, pid_t pid);

/// A copy of the name, to keep after the process is gone.
struct ProcessName {
  char bytes[kLongestProcessName] = {};
  unsigned char size = 0;
  bool is_title = false;

  void read(pid_t pid);
  /// Reads the name again, because the process may have given itself a title since. A process that
  /// is ending has no command line any more, so an earlier title stays, and so does the name of a
  /// process that is gone.
  void refresh(pid_t pid);
  std::string_view view() const { return {bytes, size}; }
};

/// Whether this is Python's helper that unlinks the shared memory of processes that could not do so
/// themselves; it ends by itself once all of them are gone.
bool is_resource_tracker(pid_t pid);

}  // namespace lastcall::shim
