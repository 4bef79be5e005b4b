// Counts the entries of a folder of /proc: this process's threads or open descriptors.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iterator>

namespace lastcall::test {

inline std::ptrdiff_t count_entries(char const* directory) {
  return std::distance(std::filesystem::directory_iterator(directory),
                       std::filesystem::directory_iterator());
}

}  // namespace lastcall::test
