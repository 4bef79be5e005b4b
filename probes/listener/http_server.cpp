#include "probes/listener/http_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/address_text.hpp"
#include "base/error_text.hpp"
#include "probes/listener/http_exchange.hpp"

namespace lastcall::probes {

namespace {

using namespace std::chrono_literals;

// The tokens that epoll returns; connections are numbered from kFirstConnection.
constexpr std::uint64_t kListeningSocket = 0;
constexpr std::uint64_t kMailbox = 1;
constexpr std::uint64_t kFirstConnection = 2;

constexpr auto kAcceptPause = 100ms;
/// The most bytes of answers that clients have not taken; one answer of that size is possible,
/// since it is the longest text of an engine that is relayed.
constexpr std::size_t kMostUnread = std::size_t{16} * 1024 * 1024;

}  // namespace

HttpListener::Server::Server(ListenerSettings settings, Handler handler)
    : settings_(std::move(settings)), handler_(std::move(handler)), next_id_(kFirstConnection) {}

std::optional<std::string> HttpListener::Server::open() {
  socket_ = open_listening_socket(settings_.host, settings_.port);
  if (!socket_.error.empty()) {
    return std::exchange(socket_, {}).error;
  }
  int error = 0;
  if (!watched_.open() || !watched_.add(kListeningSocket, socket_.descriptor.get()) ||
      !watched_.add(kMailbox, mailbox_->descriptor())) {
    error = errno;
  } else {
    error = thread_.start(settings_.thread_name, [this] { run(); });
  }
  if (error != 0) {
    socket_.descriptor.reset();
    return "cannot serve " + address_text(socket_.host, socket_.port) + ": " + error_text(error);
  }
  return std::nullopt;
}

void HttpListener::Server::close(std::chrono::milliseconds linger) {
  closing_.give(linger);
  mailbox_->wake();
  thread_.join();
}

void HttpListener::Server::run() {
  std::array<epoll_event, 32> ready{};
  while (true) {
    auto now = Clock::now();
    if (closing_.begins(now)) {
      begin_closing();
    }
    if (closing_.deadline() && (connections_.empty() || now >= *closing_.deadline())) {
      connections_.clear();
      return;
    }
    int const count = watched_.wait(ready, next_timeout(now));
    for (int i = 0; i < count; ++i) {
      auto const id = ready[static_cast<std::size_t>(i)].data.u64;
      if (id == kListeningSocket) {
        accept_all();
      } else if (id == kMailbox) {
        deliver_letters();
      } else {
        on_ready(id);
      }
    }
    drop_overdue(Clock::now());
  }
}

void HttpListener::Server::accept_all() {
  while (socket_.descriptor && !accept_again_at_ && accept_one()) {
  }
}

/// False if no more clients are waiting, or if there is no descriptor to accept with.
bool HttpListener::Server::accept_one() {
  Descriptor fd{
      ::accept4(socket_.descriptor.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
  if (!fd) {
    int const error = errno;
    if (error == EAGAIN) {
      return false;
    }
    bool const exhausted =
        error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
    if (exhausted && !make_room()) {
      pause_accepting();
      return false;
    }
    return true;  // that client is gone, or there is room now: accept the next one
  }
  if (connections_.size() >= settings_.max_connections && !make_room()) {
    return true;  // all are being answered; this one is closed
  }
  Id const id = next_id_++;
  Connection& connection = connections_[id];
  connection.descriptor = std::move(fd);
  connection.deadline = Clock::now() + settings_.head_timeout;
  watched_.add(id, connection.descriptor.get());
  on_ready(id);  // the head often came with the connection
  return true;
}

/// Closes the oldest connection that still sends its head or lingers, else the oldest whose client
/// does not take its answer.
bool HttpListener::Server::make_room() {
  auto oldest = std::find_if(connections_.begin(), connections_.end(), [](auto const& entry) {
    return entry.second.state == State::reading || entry.second.state == State::lingering;
  });
  if (oldest == connections_.end()) {
    oldest = std::find_if(connections_.begin(), connections_.end(),
                          [](auto const& entry) { return entry.second.state == State::writing; });
  }
  if (oldest == connections_.end()) {
    return false;
  }
  connections_.erase(oldest);
  return true;
}

/// Stops watching the listening socket for a while: as it stays readable, the loop would spin.
void HttpListener::Server::pause_accepting() {
  watched_.remove(socket_.descriptor.get());
  accept_again_at_ = Clock::now() + kAcceptPause;
}

void HttpListener::Server::on_ready(Id id) {
  auto const found = connections_.find(id);
  if (found == connections_.end()) {
    return;  // closed by an earlier event of the same batch
  }
  Connection& connection = found->second;
  bool keep = false;
  switch (connection.state) {
    case State::reading:
      keep = read_head(id, connection);
      break;
    case State::deferred:
      break;  // reset by the client: the handler goes on, its answer has no receiver
    case State::writing:
      keep = write_some(id, connection);
      break;
    case State::lingering:
      keep = connection.forget_input();
      break;
  }
  if (!keep) {
    connections_.erase(id);
  }
}

void HttpListener::Server::deliver_letters() {
  for (auto& letter : mailbox_->take()) {
    auto const found = connections_.find(letter.connection);
    if (found == connections_.end() || found->second.state != State::deferred) {
      continue;  // that client is gone
    }
    Connection& connection = found->second;
    connection.output =
        answer_head({connection.input.data(), connection.head_size},
                    [&](Request const&) { return std::optional<Reply>{std::move(letter.reply)}; });
    if (!write_some(letter.connection, connection)) {
      connections_.erase(letter.connection);
    }
  }
}

/// Accepts no more connections and ends those that wait for their client or for a handler.
void HttpListener::Server::begin_closing() {
  socket_.descriptor.reset();
  deliver_letters();  // what was answered before close() is still sent
  std::erase_if(connections_, [](auto const& entry) {
    return entry.second.state == State::reading || entry.second.state == State::deferred;
  });
}

/// Ends connections whose time is over. Answers that clients do not take are dropped beyond
/// kMostUnread, the oldest first.
void HttpListener::Server::drop_overdue(Clock::time_point now) {
  std::size_t held = 0;
  for (auto entry = connections_.end(); entry != connections_.begin();) {
    --entry;
    Connection const& connection = entry->second;
    std::size_t const size = connection.output.size();
    bool const is_late = connection.deadline && *connection.deadline <= now;
    if (is_late || (size > 0 && held > 0 && held + size > kMostUnread)) {
      entry = connections_.erase(entry);
    } else {
      held += size;
    }
  }
  if (accept_again_at_ && *accept_again_at_ <= now && socket_.descriptor) {
    accept_again_at_.reset();
    watched_.add(kListeningSocket, socket_.descriptor.get());
  }
}

/// Milliseconds until the next deadline; -1 if there is none.
int HttpListener::Server::next_timeout(Clock::time_point now) const {
  auto next = Clock::time_point::max();
  for (auto const& [id, connection] : connections_) {
    next = std::min(next, connection.deadline.value_or(next));
  }
  next = std::min(next, accept_again_at_.value_or(next));
  next = std::min(next, closing_.deadline().value_or(next));
  if (next == Clock::time_point::max()) {
    return -1;
  }
  auto const left = std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
}

}  // namespace lastcall::probes
