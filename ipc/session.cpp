#include "ipc/session.hpp"

#include <utility>

#include <boost/asio/post.hpp>

namespace lastcall::ipc {
namespace {

using boost::system::error_code;

constexpr std::size_t kDiscardAtOnce = 64 * 1024;
constexpr std::chrono::milliseconds kLinger{1'000};

}  // namespace

Session::Session(boost::asio::io_context& io, PeerId id, Descriptor socket, PeerProcess process,
                 SessionOutput::Limits limits, std::weak_ptr<SessionOwner> owner,
                 std::shared_ptr<Turns> turns)
    : id_(id),
      socket_(io, std::move(socket)),
      timer_(io),
      owner_(owner),
      turns_(std::move(turns)),
      output_(io, id, socket_, limits, owner, turns_->unflushed(), *this),
      input_(id, socket_, output_, std::move(owner), *this),
      process_(io, std::move(process)) {}

void Session::start(std::chrono::milliseconds hello_timeout) {
  output_.start(std::shared_ptr<SessionOutput>(shared_from_this(), &output_));
  wait_readable();
  process_.start([self = shared_from_this()] { self->process_ended(); });
  timer_.expires_after(hello_timeout);
  timer_.async_wait([self = shared_from_this()](error_code const& error) {
    auto const owner = self->owner_.lock();
    // A handler that is queued already is not cancelled by a hello that comes before it.
    bool const has_hello = self->input_.has_greeted() || self->input_.is_held();
    if (!error && owner && !has_hello && self->is_open()) {
      owner->sent_no_hello(self->id_);
    }
  });
}

void Session::greeted(bool is_patient) {
  input_.greeted();
  (void)take_passed();  // nobody took it
  if (is_patient) {
    output_.be_patient();
  }
  timer_.cancel();
}

// ---- reading ---------------------------------------------------------------------------------

void Session::wait_readable() {
  socket_.wait_readable([self = shared_from_this()](error_code const& error) {
    if (!error) {
      self->readable();
    }
  });
}

void Session::readable() {
  if (is_open()) {
    input_.due();
    return turns_->add(std::shared_ptr<SessionInput>(shared_from_this(), &input_));
  }
  socket_.discard(kDiscardAtOnce);
  if (socket_.has_peer_closed() && output_.has_ended()) {
    socket_.close();
    timer_.cancel();
  }
  if (socket_.is_open() && !socket_.has_peer_closed()) {
    wait_readable();
  }
}

void Session::hold_lines() {
  timer_.cancel();
  input_.hold();
}

void Session::go_on() {
  input_.go_on();
  turns_->add_at(input_, std::shared_ptr<SessionInput>(shared_from_this(), &input_));
}

// ---- the end ---------------------------------------------------------------------------------

void Session::close(std::string_view why) {
  if (is_open()) {
    why_ = why;
    output_.finish();
    input_.end_waits();
  }
}

void Session::abort(std::string_view why) {
  if (output_.has_ended()) {
    return;
  }
  socket_.count_as_closed();  // no lingering
  end(is_open() ? std::string(why) : why_);
}

void Session::output_failed(std::optional<Drop> reason, std::string_view why) {
  if (auto const owner = owner_.lock(); reason && owner && !output_.has_ended()) {
    owner->dropped(id_, *reason);
  }
  abort(why);
}

void Session::dismiss(std::string_view line) {
  if (is_open()) {
    (void)socket_.send(line);
    abort("dismissed by the supervisor");
  }
}

void Session::end(std::string_view why) {
  output_.stop();
  input_.end_waits();
  (void)take_passed();
  timer_.cancel();
  if (socket_.has_peer_closed()) {
    socket_.close();
  } else {
    socket_.end_writing();
    timer_.expires_after(kLinger);
    timer_.async_wait([self = shared_from_this()](error_code const& error) {
      if (!error) {
        self->socket_.close();
      }
    });
  }
  boost::asio::post(timer_.get_executor(), [self = shared_from_this(), reason = std::string(why)] {
    self->input_.drop_lines();  // not earlier: the caller may still use a line from it
    if (auto const owner = self->owner_.lock()) {
      owner->ended(self->id_, reason);
    }
  });
}

// ---- the process -----------------------------------------------------------------------------

void Session::process_ended() {
  if (is_open()) {
    input_.process_ended();
  }
  process_.stop();
  if (auto const owner = owner_.lock()) {
    owner->process_ended(id_);
  }
}

}  // namespace lastcall::ipc
