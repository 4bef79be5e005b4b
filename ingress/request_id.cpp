#include "ingress/request_id.hpp"

#include <algorithm>
#include <cstring>

#include <sys/random.h>

namespace lastcall::ingress {
namespace {

constexpr std::size_t kMaxId = 200;
constexpr std::size_t kRandomBytes = 16;

}  // namespace

bool is_usable_id(std::string_view id) {
  return !id.empty() && id.size() <= kMaxId && std::all_of(id.begin(), id.end(), [](char c) {
    return c > ' ' && c < '\x7f' && c != '"' && c != '\\' && c != ',';
  });
}

void RequestIds::refill(std::size_t wanted) {
  if (used_ + wanted > random_.size()) {
    // The kernel never interrupts a request for up to 256 bytes; more bytes are fetched in parts.
    for (std::size_t at = 0; at < random_.size();) {
      ssize_t const got = ::getrandom(random_.data() + at, random_.size() - at, 0);
      at += got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    used_ = 0;
  }
}

std::uint64_t RequestIds::draw() {
  std::uint64_t number = 0;
  while (number == 0) {
    refill(sizeof number);
    std::memcpy(&number, random_.data() + used_, sizeof number);
    used_ += sizeof number;
  }
  return number;
}

std::string RequestIds::make() {
  refill(kRandomBytes);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string id(2 * kRandomBytes, '0');
  for (std::size_t i = 0; i < kRandomBytes; ++i) {
    unsigned const byte = random_[used_++];
    id[2 * i] = kDigits[byte >> 4U];
    id[2 * i + 1] = kDigits[byte & 15U];
  }
  return id;
}

}  // namespace lastcall::ingress
