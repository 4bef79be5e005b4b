// bench_relay PORT UPSTREAM: moves bytes between clients of 127.0.0.1:PORT and 127.0.0.1:UPSTREAM,
// one connection for one, and does nothing else: no parsing, no pool, no deadline, no log.
//
// Any proxy pays for what this pays for, which is mostly two wake-ups. What a proxy adds beyond it
// is the work of the proxy.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace lastcall::bench {
namespace {

sockaddr_in loopback(char const* port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int connection_of(int fd) {
  int const on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

class Relay {
 public:
  Relay(int listener, sockaddr_in upstream)
      : listener_(listener), upstream_(upstream), set_(::epoll_create1(EPOLL_CLOEXEC)) {
    watch(listener_);
  }

  [[noreturn]] void run() {
    std::array<epoll_event, 64> events{};
    for (;;) {
      int const count = ::epoll_wait(set_, events.data(), static_cast<int>(events.size()), -1);
      for (int i = 0; i < count; ++i) {
        int const fd = events[static_cast<std::size_t>(i)].data.fd;
        if (fd == listener_) {
          accept();
        } else {
          move(fd);
        }
      }
    }
  }

 private:
  int& peer(int fd) {
    auto const at = static_cast<std::size_t>(fd);
    if (peers_.size() <= at) {
      peers_.resize(at + 1);
    }
    return peers_[at];
  }

  void watch(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    ::epoll_ctl(set_, EPOLL_CTL_ADD, fd, &event);
  }

  void accept() {
    int const client = connection_of(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC));
    int const engine = connection_of(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (client < 0 || engine < 0 ||
        ::connect(engine, reinterpret_cast<sockaddr const*>(&upstream_), sizeof upstream_) != 0) {
      std::perror("bench_relay");
      std::exit(1);
    }
    peer(client) = engine;
    peer(engine) = client;
    watch(client);
    watch(engine);
  }

  void move(int from) {
    int const to = peer(from);
    ssize_t const count = ::recv(from, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (count > 0) {
      ::send(to, buffer_.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL);
    } else if (to != 0) {
      peer(from) = peer(to) = 0;
      ::close(from);
      ::close(to);
    }
  }

  int listener_;
  sockaddr_in upstream_;
  int set_;
  std::vector<int> peers_;  // by descriptor; 0 for none
  std::array<char, 65'536> buffer_{};
};

}  // namespace
}  // namespace lastcall::bench

int main(int count, char** words) {
  if (count != 3) {
    std::fputs("usage: bench_relay PORT UPSTREAM\n", stderr);
    return 2;
  }
  int const listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in const own = lastcall::bench::loopback(words[1]);
  if (::bind(listener, reinterpret_cast<sockaddr const*>(&own), sizeof own) != 0 ||
      ::listen(listener, 128) != 0) {
    std::perror("bench_relay");
    return 1;
  }
  lastcall::bench::Relay(listener, lastcall::bench::loopback(words[2])).run();
}
