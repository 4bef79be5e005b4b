#include "ipc/session_input.hpp"

#include <cerrno>
#include <string>
#include <utility>

#include "base/error_text.hpp"
#include "ipc/session.hpp"

namespace lastcall::ipc {
namespace {

/// How many bytes of one peer are read before other peers have their turn.
constexpr std::size_t kReadAtOnce = 64 * 1024;

}  // namespace

SessionInput::SessionInput(PeerId id, PeerSocket& socket, SessionOutput const& output,
                           std::weak_ptr<SessionOwner> lines, InputOwner& owner)
    : id_(id), socket_(socket), output_(output), lines_(std::move(lines)), owner_(owner) {}

void SessionInput::greeted() {
  has_greeted_ = true;
  right_ = right_ == Right::newcomer ? Right::crowd : right_;
}

Turn SessionInput::take_turn(TimePoint until) {
  std::size_t const most = right_ == Right::newcomer ? 1 : kReadAtOnce;
  bool may_be_more = true;
  while (output_.is_open()) {
    if (take_lines(until)) {
      return Turn::cut;
    }
    if (!may_be_more || !output_.is_open()) {
      break;
    }
    if (of_this_turn_ >= most) {
      of_this_turn_ = 0;
      return Turn::again;
    }
    Received const received = receive();
    of_this_turn_ += received.bytes;
    may_be_more = received.may_be_more;
  }
  of_this_turn_ = 0;
  if (socket_.is_open() && !socket_.has_peer_closed()) {
    owner_.wait_readable();
  }
  return Turn::over;
}

void SessionInput::read_up_to(std::size_t most, bool until_nothing_is_left) {
  take_lines(TimePoint::max());
  std::size_t total = 0;
  while (output_.is_open() && total < most) {
    Received const received = receive();
    total += received.bytes;
    take_lines(TimePoint::max());
    if (received.bytes == 0 || (!received.may_be_more && !until_nothing_is_left)) {
      return;  // that was all; bytes that arrive meanwhile wake us again
    }
  }
}

SessionInput::Received SessionInput::receive() {
  std::span<char> const room = buffer_.prepare();
  ssize_t size = 0;
  do {
    // Before its hello a peer may pass one descriptor; any other is closed when it arrives.
    size = has_greeted_ ? socket_.receive(room) : socket_.receive_with_descriptor(room);
  } while (size < 0 && errno == EINTR);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    return {};
  }
  if (size <= 0) {
    std::string const why = size == 0 ? "closed by the peer" : "cannot read: " + error_text(errno);
    socket_.count_as_closed();
    owner_.input_ended(why);
    return {};
  }
  auto const count = static_cast<std::size_t>(size);
  buffer_.commit(count);
  return {.bytes = count, .may_be_more = count == room.size()};
}

bool SessionInput::take_lines(TimePoint until) {
  auto const owner = lines_.lock();
  while (owner && output_.is_open()) {
    auto const line = buffer_.next_line();
    if (!line) {
      break;
    }
    owner->line(id_, *line);
    if (TimePoint::clock::now() >= until) {
      return true;
    }
  }
  if (owner && output_.is_open() && buffer_.is_overflowing()) {
    owner->line_too_long(id_);
  }
  return false;
}

}  // namespace lastcall::ipc
