// Ids of requests: the client's X-Request-Id if it is valid, else a new one.
//
// Thread rule: one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lastcall::ingress {

/// Visible ASCII without quotes or commas, at most 200 bytes. Logs, labels and command lines can
/// carry that, and it leaves room for a suffix below the wire's limit of 256.
bool is_usable_id(std::string_view id);

class RequestIds {
 public:
  /// 32 hexadecimal digits from the system's random numbers.
  std::string make();
  /// Returns one of 2^64 - 1 numbers that cannot be guessed; never 0.
  std::uint64_t draw();

 private:
  void refill(std::size_t wanted);

  std::array<unsigned char, 1024> random_{};
  std::size_t used_ = sizeof random_;
};

/// Returns `wanted`, with a suffix while it is in use: -2 to -9, and then a random one. If all
/// clients send the same id, the thousandth of them costs no more than the tenth.
template <typename IsTaken>
std::string id_apart(std::string_view wanted, RequestIds& ids, IsTaken const& is_taken) {
  constexpr unsigned kCounted = 9;
  constexpr std::size_t kDrawn = 16;
  std::string id(wanted);
  for (unsigned n = 2; is_taken(id); ++n) {
    id.assign(wanted) += '-';
    id += n <= kCounted ? std::to_string(n) : ids.make().substr(0, kDrawn);
  }
  return id;
}

}  // namespace lastcall::ingress
