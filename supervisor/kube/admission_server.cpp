#include "supervisor/kube/admission_server.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <poll.h>

#include "relay/status_phrase.hpp"

namespace lastcall::kube {
namespace {

using ingress::Io;
using ingress::IoResult;

constexpr std::size_t kLongestHead = std::size_t{16} * 1024;
constexpr std::chrono::seconds kLinger{1};

std::string http_text(AdmissionReply const& reply) {
  return "HTTP/1.1 " + std::to_string(reply.status) + " " +
         std::string(relay::phrase_of(static_cast<unsigned>(reply.status))) +
         "\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(reply.body.size()) + "\r\nConnection: close\r\n\r\n" + reply.body;
}

AdmissionReply error_reply(int status, std::string_view what) {
  return {status, "{\"error\":\"" + std::string(what) + "\"}\n"};
}

}  // namespace

struct AdmissionServer::Connection {
  ingress::Socket socket;
  std::unique_ptr<ingress::TlsSession> tls;
  Clock::time_point deadline = Clock::now() + kPatience;
  State state = State::reading;
  std::string input;  // the head, and as much of the body as has arrived
  relay::RequestReader reader;
  AdmissionRequest request;
  std::size_t whole = 0;  // head and body; 0: the head is not complete
  std::size_t head = 0;
  std::string output;
};

AdmissionServer::AdmissionServer(ingress::Socket listening,
                                 std::unique_ptr<ingress::TlsContext> tls, Listeners listeners)
    : listening_(std::move(listening)), tls_(std::move(tls)), listeners_(std::move(listeners)) {}

AdmissionServer::~AdmissionServer() = default;

void AdmissionServer::run(int stop) {
  while (!is_ending_ || !connections_.empty()) {
    bool const is_asked_to_end = wait(stop);
    tls_->follow_files();
    listeners_.tick();
    if (listening_) {
      accept();
    }
    for (Connection& connection : connections_) {
      advance(connection);
    }
    auto const now = Clock::now();
    std::erase_if(connections_, [&](Connection const& connection) {
      return connection.state == State::done || connection.deadline <= now;
    });
    if (is_asked_to_end && !is_ending_) {
      begin_end();
    }
  }
}

/// Waits for events; returns whether `stop` is readable.
bool AdmissionServer::wait(int stop) {
  auto const now = Clock::now();
  Clock::duration longest = kTick;
  std::vector<pollfd> sockets{{is_ending_ ? -1 : stop, POLLIN, 0}, {listening_.get(), POLLIN, 0}};
  for (Connection const& connection : connections_) {
    bool const writes = connection.state == State::writing;
    sockets.push_back({connection.socket.get(), static_cast<short>(writes ? POLLOUT : POLLIN), 0});
    longest = std::min(longest, connection.deadline - now);
  }
  auto const left = std::chrono::ceil<std::chrono::milliseconds>(longest).count();
  ::poll(sockets.data(), sockets.size(), static_cast<int>(std::max<long>(left, 0)));
  return (sockets.front().revents & POLLIN) != 0;
}

void AdmissionServer::begin_end() {
  is_ending_ = true;
  listeners_.ending();
  ingress::take_no_newcomers(listening_.get());
  accept();  // otherwise clients that wait in the queue would be reset
  listening_.close();
}

void AdmissionServer::accept() {
  while (true) {
    ingress::Socket socket;
    std::string address;
    if (ingress::accept_one(listening_, socket, address) != ingress::Accept::accepted) {
      return;
    }
    std::unique_ptr<ingress::TlsSession> tls = tls_->accept(socket);
    if (!tls) {
      continue;
    }
    if (connections_.size() >= kConnections) {
      auto const oldest =
          std::find_if(connections_.begin(), connections_.end(),
                       [](Connection const& each) { return each.state != State::writing; });
      if (oldest == connections_.end()) {
        continue;
      }
      connections_.erase(oldest);
    }
    Connection& made = connections_.emplace_back();
    made.socket = std::move(socket);
    made.tls = std::move(tls);
  }
}

void AdmissionServer::advance(Connection& connection) {
  if (connection.state == State::reading) {
    read(connection);
  }
  if (connection.state == State::writing) {
    write(connection);
  }
  if (connection.state == State::lingering) {
    linger(connection);
  }
}

void AdmissionServer::read(Connection& connection) {
  std::array<char, 16 * 1024> buffer;
  while (connection.state == State::reading) {
    IoResult const result = connection.tls->read(buffer);
    if (result.io == Io::would_block) {
      return;
    }
    if (result.io != Io::some) {
      if (auto const& failure = connection.tls->failure()) {
        listeners_.tls_failed(*failure);
      }
      connection.state = State::done;
      return;
    }
    connection.input.append(buffer.data(), result.size);
    take(connection);
  }
}

/// Handles the bytes that have arrived: a head, a body, or an error in one of them.
void AdmissionServer::take(Connection& connection) {
  if (connection.whole == 0) {
    relay::TakenHead taken;
    auto const found =
        connection.reader.read(connection.input, {kLongestHead, kLongestBody}, taken);
    if (found == relay::RequestReader::Found::refused) {
      return answer(connection, error_reply(static_cast<int>(taken.fault.status),
                                            "the request cannot be read"));
    }
    if (found == relay::RequestReader::Found::incomplete) {
      return;
    }
    if (taken.framing.kind == relay::Framing::Kind::chunked) {
      return answer(connection, error_reply(411, "expected a Content-Length"));
    }
    connection.request.method = taken.head.method;
    connection.request.path =
        taken.destination.target.substr(0, taken.destination.target.find('?'));
    connection.head = taken.length;
    connection.whole = taken.length + taken.framing.length;
  }
  if (connection.input.size() >= connection.whole) {
    connection.request.body = std::string_view(connection.input)
                                  .substr(connection.head, connection.whole - connection.head);
    answer(connection, listeners_.answer(connection.request));
  }
}

void AdmissionServer::answer(Connection& connection, AdmissionReply const& reply) {
  connection.output = http_text(reply);
  connection.input = {};
  connection.state = State::writing;
}

void AdmissionServer::write(Connection& connection) {
  IoResult const result = connection.tls->write(connection.output);
  connection.output.erase(0, result.size);
  if (result.io != Io::some) {
    connection.state = State::done;
  } else if (connection.output.empty()) {
    // If the client has sent bytes meanwhile, a close would become a reset and destroy the answer.
    connection.tls->send_close_notify();
    ingress::end_output(connection.socket);
    connection.deadline = std::min(connection.deadline, Clock::now() + kLinger);
    connection.state = State::lingering;
  }
}

void AdmissionServer::linger(Connection& connection) {
  std::array<char, 16 * 1024> buffer;
  IoResult result{Io::some, 0};
  while (result.io == Io::some) {
    result = ingress::read_some(connection.socket, buffer);
  }
  if (result.io != Io::would_block) {
    connection.state = State::done;
  }
}

}  // namespace lastcall::kube
