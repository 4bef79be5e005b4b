#include "ipc/session_output.hpp"

#include <cerrno>

#include "base/error_text.hpp"

namespace lastcall::ipc {

SessionOutput::SessionOutput(boost::asio::io_context& io, PeerId id, PeerSocket& socket,
                             Limits limits, std::weak_ptr<CancelSource> cancels,
                             std::shared_ptr<UnflushedOutputs> unflushed, OutputOwner& owner)
    : id_(id),
      socket_(socket),
      max_waiting_(limits.max_waiting),
      cancels_(std::move(cancels)),
      unflushed_(std::move(unflushed)),
      owner_(owner),
      stall_(io, socket, limits.stall_timeout) {}

void SessionOutput::queued() {
  if (state_ == State::ended) {
    return buffer_.drop_waiting();
  }
  if (!is_patient_ && buffer_.other_waiting() > max_waiting_) {
    return owner_.output_failed(Drop::backlog,
                                "more than " + std::to_string(max_waiting_) + " bytes wait for it");
  }
  schedule_flush();
}

void SessionOutput::cancels_ready() {
  if (state_ == State::open) {
    buffer_.cancels_ready();
    schedule_flush();
  }
}

void SessionOutput::finish() {
  state_ = State::finishing;
  buffer_.drop_cancels();
  schedule_flush();
}

void SessionOutput::stop() {
  state_ = State::ended;
  buffer_.clear();
  stall_.cancel();
}

void SessionOutput::schedule_flush() {
  if (flush_is_scheduled_ || is_blocked_) {
    return;
  }
  flush_is_scheduled_ = true;
  unflushed_->add(self_.lock());
}

void SessionOutput::flush_now() {
  flush_is_scheduled_ = false;
  flush();
}

void SessionOutput::flush() {
  auto const source = cancels_.lock();
  if (state_ == State::ended || is_blocked_ || !source) {
    return;
  }
  auto const make_cancels = [&](std::size_t room, std::string& out) {
    return source->make_cancels(id_, room, out);
  };
  for (std::string_view bytes; !(bytes = buffer_.next(make_cancels)).empty();) {
    ssize_t const size = socket_.send(bytes);
    if (size >= 0) {
      buffer_.wrote(static_cast<std::size_t>(size));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return wait_writable();
    } else if (errno != EINTR && errno != EPIPE && errno != ECONNRESET) {
      // The peer is alive: it reconnects and announces everything again only if it sees an end.
      return owner_.output_failed(std::nullopt, "cannot write: " + error_text(errno));
    } else if (errno != EINTR) {
      // The peer can no longer read it. Its earlier bytes are still to be read: the reading side
      // decides when the connection is over.
      buffer_.drop_cancels();
      buffer_.drop_waiting();
      if (state_ == State::finishing) {
        socket_.count_as_closed();
      }
      break;
    }
  }
  buffer_.forget_written();
  if (state_ == State::finishing) {
    owner_.output_finished();
  }
}

void SessionOutput::wait_writable() {
  is_blocked_ = true;
  wait_for_reader();
  socket_.wait_writable([self = self_.lock()](boost::system::error_code const& error) {
    self->is_blocked_ = false;
    if (!error) {
      self->stall_.cancel();
      self->flush();
    }
  });
}

void SessionOutput::wait_for_reader() {
  stall_.arm([self = self_.lock()] {
    if (self->is_blocked_) {
      self->stalled();
    }
  });
}

void SessionOutput::stalled() {
  if (stall_.has_read() || (is_patient_ && state_ == State::open)) {
    return wait_for_reader();
  }
  owner_.output_failed(Drop::slow_reader,
                       "has read nothing for " + std::to_string(stall_.timeout().count()) + " ms");
}

}  // namespace lastcall::ipc
