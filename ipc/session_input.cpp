#include "ipc/session_input.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string>
#include <utility>

#include "base/error_text.hpp"
#include "ipc/session.hpp"

namespace lastcall::ipc {
namespace {

/// How many bytes of one peer are read before other peers have their turn.
constexpr std::size_t kReadAtOnce = 64 * 1024;
/// The same once its process has ended. A send buffer is smaller, unless its owner is privileged.
constexpr std::size_t kReadOfTheDead = 1024 * 1024;

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
    bool const is_cut = take_lines(until);
    if (is_held_) {
      return Turn::over;
    }
    if (is_cut) {
      return Turn::cut;
    }
    end_waits_up_to(received_);
    if (!output_.is_open() || (!may_be_more && waiting_.empty())) {
      break;
    }
    if (of_this_turn_ >= most && of_the_dead_ == 0) {
      of_this_turn_ = 0;
      return Turn::again;
    }
    Received const received = receive();
    if (received.bytes == 0) {
      end_waits();
    }
    may_be_more = received.may_be_more;
  }
  of_this_turn_ = 0;
  is_due_ = false;
  if (socket_.is_open() && !socket_.has_peer_closed()) {
    owner_.wait_readable();
  }
  return Turn::over;
}

void SessionInput::process_ended() {
  of_the_dead_ = std::min(socket_.unread(), kReadOfTheDead);
}

bool SessionInput::await_rest(std::function<void()> received) {
  if (!output_.is_open() || (!is_due_ && !socket_.has_something())) {
    return false;
  }
  // One byte more than what is there now can only be the end of the stream, or newer.
  waiting_.push_back({received_ + socket_.unread() + 1, std::move(received)});
  return true;
}

void SessionInput::end_waits() {
  end_waits_up_to(std::numeric_limits<std::uint64_t>::max());
}

void SessionInput::end_waits_up_to(std::uint64_t bytes) {
  while (!waiting_.empty() && waiting_.front().most <= bytes) {
    auto const received = std::move(waiting_.front().received);
    waiting_.pop_front();
    received();
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
  received_ += count;
  of_this_turn_ += count;
  of_the_dead_ -= std::min(of_the_dead_, count);
  return {.bytes = count, .may_be_more = count == room.size()};
}

bool SessionInput::take_lines(TimePoint until) {
  auto const owner = lines_.lock();
  while (owner && output_.is_open() && !is_held_) {
    auto const line = buffer_.next_line();
    if (!line) {
      break;
    }
    owner->line(id_, *line);
    if (TimePoint::clock::now() >= until) {
      return true;
    }
  }
  if (owner && output_.is_open() && !is_held_ && buffer_.is_overflowing()) {
    owner->line_too_long(id_);
  }
  return false;
}

}  // namespace lastcall::ipc
