#include "probes/listener/probe_client.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address_text.hpp"
#include "base/descriptor.hpp"
#include "base/error_text.hpp"
#include "base/resolve.hpp"
#include "base/socket_address.hpp"
#include "relay/response_reader.hpp"

namespace lastcall::probes {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostBytes = 64 * 1024;

std::vector<std::string> hosts_to_ask(std::string const& host) {
  if (host == "::") {
    return {"::1", "127.0.0.1"};
  }
  return {host == "0.0.0.0" ? "127.0.0.1" : host};
}

/// One exchange with one address.
class Exchange {
 public:
  Exchange(Clock::time_point limit, ProbeAnswer& answer) : limit_(limit), answer_(answer) {}

  /// False if no process answered there; the answer then has the problem.
  bool connect(std::string const& host, std::uint16_t port) {
    Resolved const found = resolve(host, port);
    if (!found.error.empty()) {
      return fail(found.error);
    }
    return std::any_of(found.addresses.begin(), found.addresses.end(),
                       [this](SocketAddress const& one) { return connect_to(one); });
  }

  bool send(std::string_view text) {
    while (!text.empty()) {
      ssize_t const count = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (count >= 0) {
        text.remove_prefix(static_cast<std::size_t>(count));
      } else if (!may_go_on(POLLOUT)) {
        return false;
      }
    }
    return true;
  }

  bool receive(std::string& text) {
    std::array<char, 4096> buffer{};
    while (text.size() < kMostBytes) {
      ssize_t const count = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
      if (count > 0) {
        text.append(buffer.data(), static_cast<std::size_t>(count));
      } else if (count == 0) {
        return true;
      } else if (!may_go_on(POLLIN)) {
        return false;
      }
    }
    return true;
  }

 private:
  bool fail(std::string why) {
    answer_.problem = std::move(why);
    return false;
  }

  /// Whether to try again after a failed call; it waits for the socket if that helps.
  bool may_go_on(short events) {
    if (errno == EINTR) {
      return true;
    }
    return errno == EAGAIN ? wait(events) : fail(error_text(errno));
  }

  bool wait(short events) {
    while (true) {
      auto const left =
          std::chrono::duration_cast<std::chrono::milliseconds>(limit_ - Clock::now()).count();
      pollfd one{.fd = socket_.get(), .events = events, .revents = 0};
      int const ready = ::poll(&one, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
      if (ready > 0) {
        return true;
      }
      if (ready == 0) {
        return fail("no answer in time");
      }
      if (errno != EINTR) {
        return fail(error_text(errno));
      }
    }
  }

  bool connect_to(SocketAddress const& to) {
    socket_ = Descriptor(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket_.get() < 0) {
      return fail(error_text(errno));
    }
    if (::connect(socket_.get(), to.get(), to.size) == 0) {
      return true;
    }
    if (errno != EINPROGRESS) {
      return fail(error_text(errno));
    }
    if (!wait(POLLOUT)) {
      return false;
    }
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    return error == 0 || fail(error_text(error));
  }

  Clock::time_point limit_;
  ProbeAnswer& answer_;
  Descriptor socket_;
};

/// Reads the status, and as much of the body as has arrived.
void read_answer(std::string& text, ProbeAnswer& answer) {
  relay::ResponseReader reader;
  std::span<char> left = text;
  while (reader.state() == relay::ResponseState::head) {
    relay::ReadHead read;
    if (left.empty() || !reader.read_head(left, {}, read)) {
      answer.status = 0;
      answer.problem = "the server there does not speak HTTP";
      return;
    }
    answer.status = static_cast<int>(read.head.status);
    left = reader.read_on(left, read);
  }
  while (!left.empty() && reader.state() == relay::ResponseState::body) {
    answer.body += reader.read_body(left);
  }
}

}  // namespace

ProbeAnswer ask_probe(std::string const& host, std::uint16_t port, std::string const& path,
                      std::chrono::milliseconds timeout) {
  ProbeAnswer answer;
  Exchange exchange(Clock::now() + timeout, answer);
  std::vector<std::string> const hosts = hosts_to_ask(host);
  bool const is_connected = std::any_of(hosts.begin(), hosts.end(), [&](std::string const& one) {
    return exchange.connect(one, port);
  });
  if (!is_connected) {
    return answer;
  }
  answer.problem.clear();
  std::string text;
  if (exchange.send("GET " + path + " HTTP/1.1\r\nHost: " + address_text(host, port) +
                    "\r\nConnection: close\r\n\r\n") &&
      exchange.receive(text)) {
    read_answer(text, answer);
  }
  return answer;
}

}  // namespace lastcall::probes
