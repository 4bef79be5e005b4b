#include "supervisor/runtime/host/descriptor_shares.hpp"

#include <algorithm>

#include "ipc/server.hpp"

namespace lastcall::runtime {
namespace {

constexpr std::uint64_t kOwn = 384;          // 256 of them for connections of the probe port
constexpr std::uint64_t kOfAThread = 8;      // its epoll sets, its timer and its wake-up
constexpr std::uint64_t kEach = 2;           // descriptors per connection
constexpr std::uint64_t kOperatorsPart = 4;  // of the sessions, if there are few

}  // namespace

DescriptorShares descriptor_shares(std::uint64_t limit, std::uint32_t threads) {
  ipc::ServerOptions const places;
  std::uint64_t const own_wanted = kOwn + kOfAThread * threads;
  std::uint64_t const sessions_wanted = places.max_connections + places.max_admin_connections;
  std::uint64_t const half = limit / 2;
  std::uint64_t const own = std::min(own_wanted, half / 2);
  std::uint64_t const sessions = std::min(sessions_wanted, (half - own) / kEach);
  std::uint64_t const operators =
      std::min<std::uint64_t>(places.max_admin_connections, sessions / kOperatorsPart);
  return {.sessions = sessions - operators,
          .operators = operators,
          .clients = (limit - own - kEach * sessions) / kEach,
          .wanted = 2 * (own_wanted + kEach * sessions_wanted)};
}

}  // namespace lastcall::runtime
