#include "supervisor/doctor/reach.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/error_text.hpp"
#include "base/resolve.hpp"
#include "base/socket_address.hpp"
#include "config/text.hpp"
#include "supervisor/doctor/findings.hpp"

namespace lastcall::doctor {
namespace {

bool is_ready(int fd, short events) {
  pollfd entry{.fd = fd, .events = events, .revents = 0};
  return ::poll(&entry, 1, static_cast<int>(kReach.count())) == 1;
}

/// Connects the socket; returns 0 or the errno.
int connect_to(SocketAddress const& address, int fd) {
  if (::connect(fd, address.get(), address.size) == 0) {
    return 0;
  }
  if (errno != EINPROGRESS) {
    return errno;
  }
  if (!is_ready(fd, POLLOUT)) {
    return ETIMEDOUT;
  }
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

int open_socket(SocketAddress const& address) {
  return ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

}  // namespace

std::optional<Target> target_of(std::string const& url) {
  auto parsed = config::parse_url(url);
  return parsed ? std::optional(Target{.host = std::move(parsed->address.host),
                                       .port = parsed->address.port,
                                       .path = std::move(parsed->path)})
                : std::nullopt;
}

std::string text_of(Target const& target) {
  return config::to_text(config::Address{.host = target.host, .port = target.port});
}

std::string existing_folder(std::string const& folder) {
  std::filesystem::path there = folder;
  std::error_code error;
  while (!std::filesystem::exists(there, error) && there != there.parent_path()) {
    there = there.parent_path();
  }
  return there.string();
}

int socket_error(std::string const& path) {
  SocketAddress const address = unix_address(path);
  Descriptor const socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::connect(socket.get(), address.get(), address.size) == 0 ? 0 : errno;
}

int listen_error(std::string const& host, std::uint16_t port) {
  Resolved const found = resolve(host, port);
  if (!found.error.empty()) {
    return EADDRNOTAVAIL;
  }
  SocketAddress const& address = found.addresses.front();
  Descriptor const socket(open_socket(address));
  if (!socket) {
    return errno == EAFNOSUPPORT ? 0 : errno;  // then lastcall listens on IPv4
  }
  int const one = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  bool const fits =
      ::bind(socket.get(), address.get(), address.size) == 0 && ::listen(socket.get(), 1) == 0;
  return fits ? 0 : errno;
}

std::string connect_problem(Target const& target) {
  Resolved const found = resolve(target.host, target.port);
  int error = 0;
  for (SocketAddress const& each : found.addresses) {
    Descriptor const socket(open_socket(each));
    error = socket ? connect_to(each, socket.get()) : errno;
    if (error == 0) {
      return {};
    }
  }
  return found.error.empty() ? error_text(error) : found.error;
}

std::optional<std::string> get(Target const& target) {
  constexpr std::size_t kMost = std::size_t{64} * 1024;
  Resolved const found = resolve(target.host, target.port);
  if (!found.error.empty()) {
    return std::nullopt;
  }
  Descriptor const socket(open_socket(found.addresses.front()));
  if (!socket || connect_to(found.addresses.front(), socket.get()) != 0) {
    return std::nullopt;
  }
  std::string const request = "GET " + target.path + " HTTP/1.0\r\nHost: " + text_of(target) +
                              "\r\nX-Lastcall-Probe: 1\r\n\r\n";
  if (::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) {
    return std::nullopt;
  }
  std::string answer;
  std::array<char, 4096> piece{};
  while (answer.size() < kMost && is_ready(socket.get(), POLLIN)) {
    ssize_t const size = ::recv(socket.get(), piece.data(), piece.size(), 0);
    if (size <= 0) {
      break;
    }
    answer.append(piece.data(), static_cast<std::size_t>(size));
  }
  return answer.empty() ? std::nullopt : std::optional(answer);
}

}  // namespace lastcall::doctor
