// The ways in which clients leave: by themselves, with the process, or for the sake of others.
#include <utility>

#include "ingress/client.hpp"
#include "ingress/client_parts.hpp"

namespace lastcall::ingress {
namespace {

using State = ClientConnection::State;

/// The memory of a connection in plain text (this object, its place in tables, its timer), and of
/// the library's state of a TLS session; both were measured.
constexpr std::size_t kPlain = sizeof(Client) + 256;
constexpr std::size_t kTls = std::size_t{24} * 1024;

}  // namespace

// --- by itself -----------------------------------------------------------------------------------

void Client::lost() {
  if (connection_.is_closed()) {
    return;
  }
  if (!request_) {
    close();
    return;
  }
  connection_.socket().lose();  // no client is left to linger for
  bool const has_taken_all = connection_.is_flushed();
  connection_.drop_output(relay::Farewell::silence);
  request_->client_left(has_taken_all);
}

void Client::check_passed(std::chrono::milliseconds since) {
  if (request_) {
    request_->check_passed(since);
  }
}

void Client::expired(Wait wait) {
  switch (wait) {
    case Wait::request:
    case Wait::client:
      if (!request_ && connection_.is_flushed() && !connection_.kept().empty()) {
        refuse(relay::bad_request(408, "the request did not arrive in time"));
      } else {
        lost();
      }
      return;
    case Wait::body:
      request_->break_off(relay::bad_request(408, "the body did not arrive in time"),
                          lifecycle::Outcome::error);
      return;
    case Wait::keep_alive:
    case Wait::parting:
      part();
      return;
    case Wait::linger:
    case Wait::turned_away:
    case Wait::connect_again:
    case Wait::upstream_idle:
    case Wait::left:
      close();
      return;
    case Wait::connect:
      request_->connect_failed();
      return;
    case Wait::ending:
    case Wait::first_byte:
    case Wait::idle:
    case Wait::total:
    case Wait::held:
    case Wait::verdict:
      request_->expired(wait);
      return;
  }
}

void Client::refuse(relay::Refusal const& refusal, Wait linger, bool head_only) {
  parts_.observer.refused(refusal);
  std::string response;
  relay::append_refusal(response, refusal, {}, true, head_only);
  connection_.write(response);
  connection_.end_once_written(relay::After::linger, linger);
}

// --- with the process ----------------------------------------------------------------------------

bool Client::is_idle() const {
  return !request_ && connection_.is_flushed() && connection_.state() == State::open;
}

void Client::part_soon() {
  if (is_idle()) {
    connection_.wait_for(Wait::parting);
  }
}

/// A request that nothing waits for, because its body is still to come or it only reads, may have
/// no answer yet: part_now() gives it one. If the process ended while the client still sends that
/// body, the connection would be reset.
bool Client::is_flushed() const {
  bool const is_unanswered = request_ && request_->has_sent_nothing();
  return connection_.is_flushed() && !is_idle() && !is_unanswered &&
         !connection_.was_answered_early();
}

void Client::part_now() {
  if (is_idle() && !request_.is_on_its_way()) {
    part();
  }
  if (!connection_.is_closed() && request_ && request_->has_sent_nothing()) {
    request_->break_off(
        relay::rejected_because(lifecycle::RejectedReason::draining, std::chrono::seconds(1)),
        lifecycle::Outcome::rejected);
  }
}

/// A request that crosses our end would be lost. So requests that have come are answered, and bytes
/// that come after our end are read: closing with unread bytes resets the connection.
void Client::part() {
  connection_.socket().try_to_read();
  connection_.read_more();
  if (request_ || connection_.state() != State::open) {
    return;
  }
  if (connection_.kept().empty()) {
    connection_.end(relay::After::linger);
  } else {
    refuse(relay::bad_request(408, "the request did not arrive in time"));
  }
}

void Client::close() {
  if (connection_.is_closed()) {
    return;
  }
  connection_.close();
  if (request_) {
    request_->abandon();
    parts_.poller.bury_unwatched(request_.take_out());
  }
  owner_.closed(*this);
}

// --- for the sake of others ----------------------------------------------------------------------

void Client::weigh() {
  if (connection_.is_closed()) {
    return;
  }
  charge_.set((connection_.socket().tls() != nullptr ? kTls : 0) + kPlain +
              connection_.kept().capacity() + connection_.unwritten().capacity() +
              (request_ ? request_->held() : 0));
  if (request_) {
    request_->weigh();
  }
  if (parts_.memory.is_exceeded()) {
    owner_.shed_soon();
  }
}

/// A whole request that waits for its place or for the engine does not count, because its client is
/// not to blame.
std::size_t Client::dead_weight() const {
  return connection_.kept().size() + connection_.unwritten().size() +
         (request_ ? request_->unfinished() : 0);
}

/// Reads first, because an idle connection may have a request by now.
bool Client::give_way() {
  connection_.socket().try_to_read();
  connection_.read_more();
  if (connection_.is_closed()) {
    return true;
  }
  bool const is_lingering = connection_.state() == State::lingering;
  if (request_ || (!is_lingering && !connection_.is_flushed())) {
    weigh();
    return false;
  }
  close();
  return true;
}

void Client::shed() {
  if (request_ && request_->has_sent_nothing() && connection_.is_flushed()) {
    request_->break_off(relay::no_memory(), lifecycle::Outcome::error);
    weigh();  // the client still reads this, and holds nothing meanwhile
    return;
  }
  if (request_ && connection_.socket().is_open()) {
    // The client is slow to read: only a reset shows it that this is not the end, and frees the
    // kernel's buffer, too.
    request_->shed();
  }
  if (!connection_.is_closed()) {
    close();
  }
}

}  // namespace lastcall::ingress
