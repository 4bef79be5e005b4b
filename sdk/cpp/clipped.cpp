#include "sdk/cpp/clipped.hpp"

#include <string_view>

#include "base/utf8.hpp"

namespace lastcall::sdk {

std::string clipped(std::string name) {
  if (name.size() > ipc::kMaxId) {
    std::size_t start = name.size() - ipc::kMaxId;
    while (start < name.size() && utf8::is_continuation(name[start])) {
      ++start;
    }
    name.erase(0, start);
  }
  for (std::size_t at = 0; at < name.size();) {
    std::string_view const rest = std::string_view(name).substr(at);
    std::size_t const length = utf8::byte_of(rest[0]) < 0x80 ? 1 : utf8::sequence_length(rest);
    if (length == 0) {
      name[at] = '?';
    }
    at += std::max<std::size_t>(length, 1);
  }
  return name;
}

}  // namespace lastcall::sdk
