#include "supervisor/kube/memory_file.hpp"

#include <cerrno>
#include <cstddef>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error_text.hpp"

namespace lastcall::kube {

std::string MemoryFile::put(std::string_view bytes) {
  Descriptor made(::memfd_create("lastcall", MFD_CLOEXEC));
  bool is_good = static_cast<bool>(made);
  while (is_good && !bytes.empty()) {
    ssize_t const count = ::write(made.get(), bytes.data(), bytes.size());
    is_good = count > 0;
    bytes.remove_prefix(is_good ? static_cast<std::size_t>(count) : 0);
  }
  if (is_good && file_) {
    is_good = ::dup3(made.get(), file_.get(), O_CLOEXEC) >= 0;
  } else if (is_good) {
    file_ = std::move(made);
  }
  return is_good ? "" : "cannot keep a file in memory: " + error_text(errno);
}

}  // namespace lastcall::kube
