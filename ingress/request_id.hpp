// Ids of requests: the client's X-Request-Id where it can be one, else one of our own.
//
// Thread rule: one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace lastcall::ingress {

/// Visible ASCII without quotes or commas, at most 200 bytes: what a log, a label and a command
/// line carry unharmed, with room for a suffix below the wire's limit of 256.
bool is_usable_id(std::string_view id);

class RequestIds {
 public:
  /// 32 hexadecimal digits from the system's random numbers.
  std::string make();

 private:
  std::array<unsigned char, 1024> random_{};
  std::size_t used_ = sizeof random_;
};

}  // namespace lastcall::ingress
