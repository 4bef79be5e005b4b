#include "ingress/socket.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <arpa/inet.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "base/socket_address.hpp"

namespace lastcall::ingress {
namespace {

void no_delay(int fd) {
  int const on = 1;
  // This fails on Unix sockets, which does no harm.
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// The clients of a dual-stack listener that use IPv4 get IPv4 addresses.
std::string text_of(sockaddr_storage const& storage) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (storage.ss_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &storage, sizeof v4);
    return ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
  }
  if (storage.ss_family == AF_INET6) {
    sockaddr_in6 v6;
    std::memcpy(&v6, &storage, sizeof v6);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
      return ::inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], text.data(), text.size());
    }
    return ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  }
  return {};
}

bool is_temporary(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace

void Socket::abort() {
  linger const at_once{1, 0};
  ::setsockopt(get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

std::string resolve(std::string const& host, std::uint16_t port, std::vector<Endpoint>& endpoints) {
  Resolved found = lastcall::resolve(host, port);
  if (!found.error.empty()) {
    return "cannot resolve " + host + ": " + found.error;
  }
  endpoints.insert(endpoints.end(), found.addresses.begin(), found.addresses.end());
  return {};
}

std::string resolve_unix(std::string const& path, std::vector<Endpoint>& endpoints) {
  if (path.size() > kLongestSocketPath) {
    return "cannot connect to " + path + ": the path is too long for a socket";
  }
  endpoints.push_back(unix_address(path));
  return {};
}

IoResult read_some(Socket const& socket, std::span<char> into) {
  ssize_t const got = ::recv(socket.get(), into.data(), into.size(), 0);
  if (got > 0) {
    return {Io::some, static_cast<std::size_t>(got)};
  }
  if (got == 0) {
    return {Io::ended, 0};
  }
  return {is_temporary(errno) ? Io::would_block : Io::broken, 0};
}

IoResult write_some(Socket const& socket, std::string_view bytes) {
  ssize_t const put = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (put >= 0) {
    return {Io::some, static_cast<std::size_t>(put)};
  }
  return {is_temporary(errno) ? Io::would_block : Io::broken, 0};
}

Connect begin_connect(Endpoint const& endpoint, Socket& socket) {
  if (!socket) {
    socket = Socket(::socket(endpoint.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    no_delay(socket.get());
  }
  if (::connect(socket.get(), endpoint.get(), endpoint.size) == 0) {
    return Connect::done;
  }
  if (errno == EAGAIN) {
    return Connect::no_room;
  }
  return errno == EINPROGRESS ? Connect::under_way : Connect::failed;
}

bool has_connected(Socket const& socket) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

bool is_quiet(Socket const& socket) {
  char byte = 0;
  return ::recv(socket.get(), &byte, 1, MSG_PEEK) < 0 && is_temporary(errno);
}

void end_output(Socket const& socket) {
  ::shutdown(socket.get(), SHUT_WR);
}

void prepare_for_clients(int listening) {
  constexpr int kOn = 1;
  constexpr int kQuietSeconds = 60;
  constexpr int kSecondsBetween = 10;
  constexpr int kTries = 3;
  auto const set = [listening](int level, int option, int const& value) {
    ::setsockopt(listening, level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, kOn);
  set(SOL_SOCKET, SO_KEEPALIVE, kOn);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kQuietSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kSecondsBetween);
  set(IPPROTO_TCP, TCP_KEEPCNT, kTries);
}

void take_no_newcomers(int listening) {
  // The filter of a TCP socket sees segments from the TCP header on.
  constexpr std::uint32_t kFlags = 13;
  constexpr std::uint32_t kSynAck = 0x12;
  constexpr std::uint32_t kSyn = 0x02;
  constexpr std::uint32_t kAll = 0xffffffff;
  std::array<sock_filter, 5> program{
      {BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kFlags), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, kSynAck),
       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kSyn, 0, 1), BPF_STMT(BPF_RET | BPF_K, 0),
       BPF_STMT(BPF_RET | BPF_K, kAll)}};
  sock_fprog const filter{static_cast<unsigned short>(program.size()), program.data()};
  // If the kernel accepts no filter, the close works as it would without one.
  ::setsockopt(listening, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
}

Accept accept_one(Socket const& listener, Socket& accepted, std::string& address) {
  SocketAddress client;
  client.size = sizeof client.address;
  int const fd =
      ::accept4(listener.get(), client.get(), &client.size, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd >= 0) {
    accepted = Socket(fd);
    address = text_of(client.address);
    return Accept::accepted;
  }
  bool const is_crowded = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
  if (is_crowded) {
    return Accept::no_room;
  }
  // If a client has left the queue again, the rest of the queue is still examined.
  return errno == ECONNABORTED ? accept_one(listener, accepted, address) : Accept::none;
}

}  // namespace lastcall::ingress
