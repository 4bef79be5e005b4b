#include "discovery/tls_files.hpp"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/error_text.hpp"

namespace lastcall::discovery {

std::string why_unusable(std::initializer_list<std::string> files, std::string_view otherwise) {
  std::string all;
  for (std::string const& file : files) {
    if (file.empty()) {
      continue;
    }
    // Opened without blocking, because it may be a pipe instead of a regular file.
    Descriptor const opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    char byte = 0;
    struct stat facts {};
    if (!opened || ::read(opened.get(), &byte, 1) < 0 || ::fstat(opened.get(), &facts) != 0) {
      return file + ": " + error_text(errno);
    }
    if (!S_ISREG(facts.st_mode)) {
      return file + ": not a regular file";
    }
    all.append(all.empty() ? "" : " and ").append(file);
  }
  return all.append(": ").append(otherwise);
}

}  // namespace lastcall::discovery
