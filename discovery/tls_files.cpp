#include "discovery/tls_files.hpp"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "base/error_text.hpp"

namespace lastcall::discovery {

std::string why_unusable(std::initializer_list<std::string> files, std::string_view otherwise) {
  std::string all;
  for (std::string const& file : files) {
    if (file.empty()) {
      continue;
    }
    // Never waits: what is no regular file may be a pipe.
    int const descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char byte = 0;
    if (descriptor < 0 || ::read(descriptor, &byte, 1) < 0) {
      int const error = errno;
      if (descriptor >= 0) {
        ::close(descriptor);
      }
      return file + ": " + error_text(error);
    }
    ::close(descriptor);
    all.append(all.empty() ? "" : " and ").append(file);
  }
  return all.append(": ").append(otherwise);
}

}  // namespace lastcall::discovery
