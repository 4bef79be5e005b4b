#include "tests/unit/probes/http_client.hpp"

#include <array>
#include <bit>
#include <utility>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace lastcall::probes::test {

using Clock = std::chrono::steady_clock;

Connection::Connection(std::uint16_t port, bool ipv6)
    : fd_(::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  v6.sin6_addr = in6addr_loopback;
  int const failed = ipv6 ? ::connect(fd_, std::bit_cast<sockaddr*>(&v6), sizeof v6)
                          : ::connect(fd_, std::bit_cast<sockaddr*>(&v4), sizeof v4);
  if (failed != 0) {
    close();
  }
}

Connection::Connection(Connection&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
Connection::~Connection() {
  close();
}

bool Connection::send(std::string_view bytes) const {
  return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

std::string Connection::receive_all(std::chrono::milliseconds at_most) const {
  auto const deadline = Clock::now() + at_most;
  std::string text;
  std::array<char, 65536> chunk{};
  while (true) {
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || ::poll(&waiting, 1, static_cast<int>(left.count())) <= 0) {
      return text;
    }
    auto const count = ::recv(fd_, chunk.data(), chunk.size(), 0);
    if (count <= 0) {
      return text;
    }
    text.append(chunk.data(), static_cast<std::size_t>(count));
  }
}

bool Connection::sees_close(std::chrono::milliseconds at_most) const {
  pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
  char byte = 0;
  return ::poll(&waiting, 1, static_cast<int>(at_most.count())) > 0 &&
         ::recv(fd_, &byte, 1, 0) <= 0;
}

void Connection::close() {
  if (fd_ >= 0) {
    ::close(std::exchange(fd_, -1));
  }
}

void Connection::reset() {
  linger const at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

Response parse_response(std::string const& text) {
  Response response;
  auto const end = text.find("\r\n\r\n");
  if (!text.starts_with("HTTP/1.1 ") || end == std::string::npos) {
    return response;
  }
  response.status = std::stoi(text.substr(9, 3));
  response.head = text.substr(0, end);
  response.body = text.substr(end + 4);
  return response;
}

Response get(std::uint16_t port, std::string const& target) {
  Connection const connection(port);
  connection.send("GET " + target + " HTTP/1.1\r\nHost: test\r\n\r\n");
  return parse_response(connection.receive_all());
}

std::uint16_t free_port() {
  int const fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(fd, std::bit_cast<sockaddr*>(&address), size);
  ::getsockname(fd, std::bit_cast<sockaddr*>(&address), &size);
  ::close(fd);
  return ntohs(address.sin_port);
}

}  // namespace lastcall::probes::test
