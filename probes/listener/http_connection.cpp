// How one connection moves through its states; http_server.hpp describes them.
#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include <sys/epoll.h>
#include <sys/socket.h>

#include "probes/listener/http_exchange.hpp"
#include "probes/listener/http_head.hpp"
#include "probes/listener/http_server.hpp"

namespace lastcall::probes {

namespace {

using namespace std::chrono_literals;

constexpr auto kLinger = 500ms;

bool would_block(int error) {
  return error == EAGAIN || error == EWOULDBLOCK;
}

}  // namespace

bool HttpListener::Server::read_head(Id id, Connection& connection) {
  std::array<char, 4096> chunk;
  while (connection.head_size == 0) {
    auto const count = ::recv(connection.descriptor.get(), chunk.data(), chunk.size(), 0);
    if (count <= 0) {
      return count < 0 && (would_block(errno) || errno == EINTR);
    }
    connection.input.append(chunk.data(), static_cast<std::size_t>(count));
    connection.head_size = find_head_end(connection.input);
    bool const has_body = connection.head_size != 0 && settings_.max_body != 0;
    std::size_t const head =
        has_body ? connection.head_size : std::max(connection.head_size, connection.input.size());
    if (head > kMaxHead) {
      connection.head_size = connection.input.size();
      connection.output = kHeadTooLarge;
      return write_some(id, connection);
    }
  }
  if (settings_.max_body != 0) {
    if (auto const open = read_body(id, connection)) {
      return *open;
    }
  }
  ask_handler(id, connection);
  return connection.state == State::deferred || write_some(id, connection);
}

/// Whether to keep the connection; nothing if the body is complete.
std::optional<bool> HttpListener::Server::read_body(Id id, Connection& connection) {
  std::size_t const length = body_length({connection.input.data(), connection.head_size});
  if (length > settings_.max_body) {
    connection.output = length == SIZE_MAX ? kLengthRequired : kBodyTooLarge;
    return write_some(id, connection);
  }
  std::array<char, 4096> chunk;
  while (connection.input.size() < connection.head_size + length) {
    auto const count = ::recv(connection.descriptor.get(), chunk.data(), chunk.size(), 0);
    if (count <= 0) {
      return count < 0 && (would_block(errno) || errno == EINTR);
    }
    connection.input.append(chunk.data(), static_cast<std::size_t>(count));
  }
  connection.body_size = length;
  return std::nullopt;
}

void HttpListener::Server::ask_handler(Id id, Connection& connection) {
  std::string_view const head(connection.input.data(), connection.head_size);
  auto const ticket = std::make_shared<Responder::Ticket>(mailbox_, id);
  bool deferred = false;
  connection.output = answer_head(head, [&](Request const& request) {
    if (connection.body_size == 0 && settings_.callers == CallerFacts::none) {
      handler_(request, Responder{ticket});
    } else {
      Request whole = request;
      whole.body = connection.input.substr(connection.head_size, connection.body_size);
      whole.caller = caller_of(connection.descriptor.get(), settings_.callers);
      handler_(whole, Responder{ticket});
    }
    auto reply = ticket->take_immediate();
    deferred = !reply;
    return reply;
  });
  if (deferred) {
    connection.state = State::deferred;
    connection.deadline.reset();
    watched_.change(id, connection.descriptor.get(), 0);  // only a reset is reported
  }
}

/// False when the connection is finished.
bool HttpListener::Server::write_some(Id id, Connection& connection) {
  if (connection.state != State::writing) {
    connection.state = State::writing;
    connection.deadline = Clock::now() + settings_.write_timeout;
  }
  while (connection.written < connection.output.size()) {
    auto const count =
        ::send(connection.descriptor.get(), connection.output.data() + connection.written,
               connection.output.size() - connection.written, MSG_NOSIGNAL);
    if (count < 0 && would_block(errno)) {
      watched_.change(id, connection.descriptor.get(), EPOLLOUT);
      return true;
    }
    if (count < 0 && errno != EINTR) {
      return false;
    }
    connection.written += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
  }
  if (!may_have_body(connection.input, connection.head_size)) {
    return false;
  }
  ::shutdown(connection.descriptor.get(), SHUT_WR);
  connection.state = State::lingering;
  connection.deadline = Clock::now() + kLinger;
  connection.input.clear();
  connection.output.clear();
  watched_.change(id, connection.descriptor.get(), EPOLLIN);
  return true;
}

bool HttpListener::Server::Connection::forget_input() {
  std::array<char, 4096> chunk;
  // Reads a bounded piece at a time, so that a client that never stops sending delays no other.
  auto const count = ::recv(descriptor.get(), chunk.data(), chunk.size(), 0);
  return count > 0 || (count < 0 && (would_block(errno) || errno == EINTR));
}

}  // namespace lastcall::probes
