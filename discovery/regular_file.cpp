#include "discovery/regular_file.hpp"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include "base/read_to_end.hpp"

namespace lastcall::discovery {

namespace {

Descriptor opened(std::string const& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

/// Nothing if the file is not a regular one.
Descriptor only_regular(Descriptor file) {
  struct stat facts {};
  bool const is_regular = file && ::fstat(file.get(), &facts) == 0 && S_ISREG(facts.st_mode);
  return is_regular ? std::move(file) : Descriptor();
}

}  // namespace

Descriptor open_regular(std::string const& path) {
  return only_regular(opened(path));
}

RegularText read_regular(std::string const& path, std::size_t most) {
  Descriptor found = opened(path);
  if (!found) {
    return {std::nullopt, errno};
  }
  Descriptor const file = only_regular(std::move(found));
  std::string text;
  if (int const failed = file ? read_to_end(file.get(), text, most) : 0; failed != 0) {
    return {std::nullopt, failed};
  }
  return file && text.size() <= most ? RegularText{std::move(text), 0} : RegularText();
}

}  // namespace lastcall::discovery
