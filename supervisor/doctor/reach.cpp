#include "supervisor/doctor/reach.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "supervisor/doctor/findings.hpp"

namespace lastcall::doctor {
namespace {

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket const&) = delete;
  Socket& operator=(Socket const&) = delete;
  ~Socket() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses look_up(std::string const& host, std::uint16_t port, int flags, int& error) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  return {error == 0 ? found : nullptr, &::freeaddrinfo};
}

bool is_ready(int fd, short events) {
  pollfd entry{.fd = fd, .events = events, .revents = 0};
  return ::poll(&entry, 1, static_cast<int>(kReach.count())) == 1;
}

std::string reason_of(int error) {
  return std::generic_category().message(error);
}

/// A connected socket, or the errno.
int connect_to(addrinfo const& address, int fd) {
  if (::connect(fd, address.ai_addr, address.ai_addrlen) == 0) {
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

int open_socket(addrinfo const& address) {
  return ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

}  // namespace

std::optional<Target> target_of(std::string const& url) {
  static constexpr std::pair<std::string_view, std::uint16_t> kSchemes[] = {
      {"http://", 80}, {"https://", 443}, {"nats://", 4222}, {"tls://", 4222}};
  for (auto const& [scheme, port] : kSchemes) {
    if (!url.starts_with(scheme)) {
      continue;
    }
    std::string const rest = url.substr(scheme.size());
    std::size_t const slash = std::min(rest.find('/'), rest.size());
    std::string place = rest.substr(0, slash);
    place = place.substr(place.rfind('@') == std::string::npos ? 0 : place.rfind('@') + 1);
    Target target{
        .host = place, .port = port, .path = slash < rest.size() ? rest.substr(slash) : "/"};
    std::size_t const colon = place.rfind(':');
    if (colon != std::string::npos && place.find(']', colon) == std::string::npos) {
      target.host = place.substr(0, colon);
      std::string_view const digits = std::string_view(place).substr(colon + 1);
      std::from_chars(digits.data(), digits.data() + digits.size(), target.port);
    }
    if (target.host.starts_with('[') && target.host.ends_with(']')) {
      target.host = target.host.substr(1, target.host.size() - 2);
    }
    return target.host.empty() ? std::nullopt : std::optional(target);
  }
  return std::nullopt;
}

std::string text_of(Target const& target) {
  bool const is_v6 = target.host.find(':') != std::string::npos;
  return (is_v6 ? "[" + target.host + "]" : target.host) + ":" + std::to_string(target.port);
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
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(),
              std::min(path.size() + 1, sizeof address.sun_path - 1));
  Socket const socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // The system's interface takes every kind of address by the pointer of one.
  auto const* const any = reinterpret_cast<sockaddr const*>(&address);
  return ::connect(socket.get(), any, sizeof address) == 0 ? 0 : errno;
}

int listen_error(std::string const& host, std::uint16_t port) {
  int failed = 0;
  Addresses const addresses = look_up(host, port, AI_PASSIVE, failed);
  if (!addresses) {
    return EADDRNOTAVAIL;
  }
  Socket const socket(open_socket(*addresses));
  if (socket.get() < 0) {
    return errno == EAFNOSUPPORT ? 0 : errno;  // lastcall listens on IPv4 then
  }
  int const one = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  bool const fits = ::bind(socket.get(), addresses->ai_addr, addresses->ai_addrlen) == 0 &&
                    ::listen(socket.get(), 1) == 0;
  return fits ? 0 : errno;
}

std::string connect_problem(Target const& target) {
  int failed = 0;
  Addresses const addresses = look_up(target.host, target.port, 0, failed);
  if (!addresses) {
    return ::gai_strerror(failed);
  }
  int error = 0;
  for (addrinfo const* each = addresses.get(); each != nullptr; each = each->ai_next) {
    Socket const socket(open_socket(*each));
    error = socket.get() < 0 ? errno : connect_to(*each, socket.get());
    if (error == 0) {
      return {};
    }
  }
  return reason_of(error);
}

std::optional<std::string> get(Target const& target) {
  constexpr std::size_t kMost = std::size_t{64} * 1024;
  int failed = 0;
  Addresses const addresses = look_up(target.host, target.port, 0, failed);
  if (!addresses) {
    return std::nullopt;
  }
  Socket const socket(open_socket(*addresses));
  if (socket.get() < 0 || connect_to(*addresses, socket.get()) != 0) {
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
