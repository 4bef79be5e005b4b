#include "base/durable_file.hpp"

#include <cerrno>
#include <cstddef>

#include <fcntl.h>
#include <unistd.h>

#include "base/ascii.hpp"
#include "base/descriptor.hpp"
#include "base/error_text.hpp"

namespace lastcall {
namespace {

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    auto const count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno != EINTR) {
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(count < 0 ? 0 : count));
  }
  return true;
}

/// Returns 0 or the error number. On success the file is on disk.
int write_durably(std::string const& path, std::string_view text, mode_t mode) {
  ::unlink(path.c_str());
  int const fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (fd < 0) {
    return errno;
  }
  int const error = write_all(fd, text) && ::fsync(fd) == 0 ? 0 : errno;
  int const closed = ::close(fd) == 0 ? 0 : errno;  // NFS reports a full server here
  return error != 0 ? error : closed;
}

}  // namespace

std::string file_failure(std::string const& action, std::string const& path, int error) {
  std::string text = error_text(error);
  text[0] = ascii::lower(text[0]);
  return "cannot " + action + " " + path + ": " + text;
}

std::string replace_file(std::string const& path, std::string const& temporary,
                         std::string_view text, mode_t mode) {
  std::string problem;
  if (int const error = write_durably(temporary, text, mode); error != 0) {
    problem = file_failure("write", temporary, error);
  } else if (::rename(temporary.c_str(), path.c_str()) != 0) {
    problem = file_failure("rename " + temporary + " to", path, errno);
  } else {
    std::string const directory = path.substr(0, path.rfind('/') + 1);
    int const failed = flush_directory(directory);
    return failed == 0 ? std::string() : file_failure("flush", directory, failed);
  }
  ::unlink(temporary.c_str());
  return problem;
}

int flush_directory(std::string const& directory) {
  Descriptor const opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) {
    return errno == EACCES ? 0 : errno;
  }
  return ::fsync(opened.get()) == 0 || errno == EINVAL ? 0 : errno;
}

}  // namespace lastcall
