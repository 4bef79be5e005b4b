#include "ingress/client_connection.hpp"

#include <utility>

#include "base/clock.hpp"
#include "ingress/client_parts.hpp"

namespace lastcall::ingress {
namespace {

/// The size of a read while memory is scarce, because bytes that come after a request are kept.
constexpr std::size_t kSmallRead = std::size_t{4} * 1024;
/// A client that still sends after this time does not read our last bytes.
constexpr std::chrono::seconds kMostLinger{30};

/// A body may have followed a head that came in pieces, so the room for it is not kept.
void forget(std::string& kept, std::size_t used) {
  kept.erase(0, used);
  if (kept.empty()) {
    std::string().swap(kept);
  }
}

}  // namespace

ClientConnection::ClientConnection(ClientParts& parts, ConnectionOwner& owner, Socket socket,
                                   std::unique_ptr<TlsSession> tls)
    : parts_(parts), owner_(owner), socket_(std::move(socket), std::move(tls)), deadline_(owner) {}

void ClientConnection::wait_for(Wait wait) {
  parts_.deadlines.arm(deadline_, wait);
}

// --- input ---------------------------------------------------------------------------------------

void ClientConnection::read_more() {
  if (is_using_) {
    return;
  }
  int reads = 0;
  while (socket_.may_read() && owner_.wants_input()) {
    if (parts_.poller.is_share_used(reads++)) {
      parts_.poller.again(owner_);
      return;
    }
    std::span<char> const scratch = parts_.memory.is_tight()
                                        ? std::span(parts_.scratch).first(kSmallRead)
                                        : std::span(parts_.scratch);
    IoResult const got = socket_.read(scratch);
    switch (got.io) {
      case Io::some:
        if (state_ != State::lingering) {
          take_in(scratch.first(got.size));
        } else if (monotonic_time() - linger_.since < kMostLinger) {
          wait_for(linger_.wait);  // the client sends on before it reads
        }
        break;
      case Io::would_block:
        break;
      case Io::ended:
      case Io::broken:
        owner_.input_over(got.io);
        break;
    }
  }
}

void ClientConnection::read_kept() {
  if (is_using_ || is_closed()) {
    return;
  }
  if (!in_.empty()) {
    forget(in_, use(in_));
  }
  read_more();
}

void ClientConnection::take_in(std::span<char> bytes) {
  if (!in_.empty()) {
    in_.append(bytes.data(), bytes.size());
    forget(in_, use(in_));
    return;
  }
  std::span<char> const rest = bytes.subspan(use(bytes));
  if (state_ == State::open || state_ == State::ending) {
    in_.append(rest.data(), rest.size());
  }
  if (!in_.empty()) {
    owner_.kept();
  }
}

std::size_t ClientConnection::use(std::span<char> bytes) {
  is_using_ = true;
  std::size_t used = 0;
  while (used < bytes.size() && !is_closed()) {
    std::size_t const taken = owner_.use(bytes.subspan(used));
    if (taken == 0) {
      break;
    }
    used += taken;
  }
  is_using_ = false;
  return used;
}

// --- output --------------------------------------------------------------------------------------

void ClientConnection::write(std::string_view bytes) {
  if (bytes.empty() || is_closed()) {
    return;
  }
  if (out_.empty()) {
    IoResult const put = socket_.write(bytes);
    if (put.io == Io::broken) {
      owner_.lost();
      return;
    }
    bytes.remove_prefix(put.size);
  }
  if (!bytes.empty()) {
    out_.add(bytes);
    wait_for(Wait::client);
  }
}

void ClientConnection::write_more() {
  if (out_.empty()) {
    return;
  }
  IoResult const put = socket_.write(out_.bytes());
  if (put.io == Io::broken) {
    owner_.lost();
    return;
  }
  if (put.size > 0) {
    wait_for(Wait::client);
  }
  out_.accepted(put.size);
  if (!out_.empty()) {
    return;
  }
  if (state_ == State::ending) {
    end(linger_.after);
  } else {
    owner_.written();
  }
}

void ClientConnection::drop_output(relay::Farewell farewell) {
  switch (farewell) {
    case relay::Farewell::refusal:
    case relay::Farewell::last_chunk:
    case relay::Farewell::error_event:
      return;
    case relay::Farewell::silence:
      break;
    case relay::Farewell::reset:
      if (socket_.is_open()) {
        parts_.poller.remove(socket_.descriptor());
        socket_.abort();
      }
      break;
  }
  out_.clear();
}

// --- its end -------------------------------------------------------------------------------------

void ClientConnection::end_once_written(relay::After after, Wait linger) {
  if (is_closed()) {
    return;
  }
  state_ = State::ending;
  linger_.wait = linger;
  linger_.after = after;
  if (out_.empty()) {
    end(after);
  }
}

void ClientConnection::end(relay::After after) {
  // Closing with unread bytes would reset the connection, and our last bytes would be lost.
  bool const has_unread = !in_.empty() || socket_.may_read();
  bool const lingers = after == relay::After::linger || has_unread;
  if (!lingers || !socket_.is_open() || socket_.has_ended()) {
    owner_.close();
    return;
  }
  state_ = State::lingering;
  linger_.since = monotonic_time();
  socket_.end_output();
  in_.clear();
  wait_for(linger_.wait);
  read_more();
}

void ClientConnection::close() {
  bool const is_orderly = state_ != State::lingering && !socket_.has_ended();
  state_ = State::closed;
  deadline_.disarm();
  if (socket_.is_open()) {
    parts_.poller.remove(socket_.descriptor());
    socket_.close(is_orderly);
  }
}

}  // namespace lastcall::ingress
