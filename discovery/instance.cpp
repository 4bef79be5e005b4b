#include "discovery/instance.hpp"

#include <array>
#include <charconv>

#include <unistd.h>

namespace lastcall::discovery {

namespace {

constexpr unsigned kIdBits = 53;
constexpr std::uint64_t kIdMask = (std::uint64_t{1} << kIdBits) - 1;

constexpr std::uint64_t kFnvOffset = 0xcbf29ce484222325U;
constexpr std::uint64_t kFnvPrime = 0x100000001b3U;

constexpr std::uint64_t fnv1a(std::uint64_t hash, std::string_view bytes) {
  for (char const c : bytes) {
    hash = (hash ^ static_cast<unsigned char>(c)) * kFnvPrime;
  }
  return hash;
}
static_assert(fnv1a(kFnvOffset, "") == 0xcbf29ce484222325U);
static_assert(fnv1a(kFnvOffset, "foobar") == 0x85944171f73967e8U);

}  // namespace

std::uint64_t instance_id(std::string_view pod_uid, std::string_view endpoint) {
  auto const hash = fnv1a(fnv1a(fnv1a(kFnvOffset, pod_uid), {"\0", 1}), endpoint);
  auto const folded = (hash >> kIdBits) ^ (hash & kIdMask);
  return folded == 0 ? 1 : folded;
}

std::string instance_hex(std::uint64_t id) {
  std::array<char, 16> digits{};
  auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), id, 16).ptr;
  return {digits.data(), end};
}

std::string host_identity() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  std::array<char, 64> pid_namespace{};  // "pid:[4026531836]"
  if (readlink("/proc/self/ns/pid", pid_namespace.data(), pid_namespace.size() - 1) < 0) {
    pid_namespace = {};
  }
  return std::string(host.data()) + "/" + pid_namespace.data();
}

}  // namespace lastcall::discovery
