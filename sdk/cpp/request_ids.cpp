#include "sdk/cpp/request_ids.hpp"

#include <array>
#include <stdexcept>
#include <string_view>

#include <sys/random.h>

#include "base/utf8.hpp"
#include "ipc/limits.hpp"

namespace lastcall::sdk {

std::string checked_id(std::string id, char const* what) {
  std::string const cannot = std::string("cannot use this ") + what + ": ";
  if (id.empty()) {
    throw std::invalid_argument(cannot + "it is empty, expected 1 to 256 bytes");
  }
  if (id.size() > ipc::kMaxId) {
    throw std::invalid_argument(cannot + std::to_string(id.size()) + " bytes, at most " +
                                std::to_string(ipc::kMaxId));
  }
  if (!utf8::is_valid(id)) {
    throw std::invalid_argument(cannot + "expected valid UTF-8");
  }
  return id;
}

std::string random_id() {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw std::runtime_error("cannot make a request id: the kernel gives no random bytes");
  }
  std::string id;
  for (unsigned char const byte : bytes) {
    id += kHex[byte >> 4U];
    id += kHex[byte & 0xFU];
  }
  return id;
}

}  // namespace lastcall::sdk
