#include "supervisor/kube/base64.hpp"

#include <algorithm>
#include <cstddef>

#include <openssl/evp.h>

namespace lastcall::kube {

std::string base64(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  int const length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                     reinterpret_cast<unsigned char const*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(length));
  return out;
}

std::optional<std::string> bytes_of_base64(std::string text) {
  std::erase_if(text, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
  std::string out(text.size() / 4 * 3 + 3, '\0');
  int const size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<unsigned char const*>(text.data()),
                                   static_cast<int>(text.size()));
  auto const padding = text.size() - (text.find_last_not_of('=') + 1);
  if (size < 0 || text.empty() || padding > 2) {
    return std::nullopt;
  }
  out.resize(static_cast<std::size_t>(size) - padding);
  return out;
}

}  // namespace lastcall::kube
