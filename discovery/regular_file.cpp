#include "discovery/regular_file.hpp"

#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lastcall::discovery {

Descriptor open_regular(std::string const& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat facts {};
  bool const is_regular = file && ::fstat(file.get(), &facts) == 0 && S_ISREG(facts.st_mode);
  return is_regular ? std::move(file) : Descriptor();
}

std::optional<std::string> read_regular(std::string const& path, std::size_t most) {
  Descriptor const file = open_regular(path);
  std::string text;
  std::array<char, 4096> chunk{};
  while (file && text.size() <= most) {
    ssize_t const count = ::read(file.get(), chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return std::nullopt;
    }
    if (count == 0) {
      return text;
    }
    text.append(chunk.data(), static_cast<std::size_t>(count));
  }
  return std::nullopt;
}

}  // namespace lastcall::discovery
