// The ways in which connections end: by themselves, with the process, or for the sake of others.
#include <utility>

#include "base/clock.hpp"
#include "ingress/client.hpp"
#include "ingress/client_parts.hpp"

namespace lastcall::ingress {
namespace {

/// The memory of a connection in plain text (this object, its place in tables, its timer), and of
/// the library's state of a TLS session; both were measured.
constexpr std::size_t kPlain = sizeof(Client) + 256;
constexpr std::size_t kTls = std::size_t{24} * 1024;

}  // namespace

// --- its request ---------------------------------------------------------------------------------

void Client::ended(relay::After after) {
  parts_.poller.bury_unwatched(std::move(request_));
  end_ = after;
  if (dead_) {
    return;
  }
  if (end_ != relay::After::keep) {
    if (out_.empty()) {  // otherwise the connection ends once the output is written
      end_connection(end_);
    }
    return;
  }
  wait_for(parts_.departure.is_parting() ? Wait::parting : Wait::keep_alive);
  read_kept();
}

std::unique_ptr<ClientRequest> Client::give_up_request() {
  std::unique_ptr<ClientRequest> request = std::move(request_);
  close();
  return request;
}

void Client::drop_output(bool reset) {
  if (reset && socket_) {
    parts_.poller.remove(socket_.get());
    socket_.abort();
  }
  out_.clear();
}

/// The client's connection is of no use any more.
void Client::lost() {
  if (dead_) {
    return;
  }
  if (!request_) {
    close();
    return;
  }
  half_closed_ = true;  // no client is left for which to linger
  bool const has_taken_all = out_.empty();
  out_.clear();
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
      if (!request_ && out_.empty() && !in_.empty()) {
        refuse_early(408, "the request did not arrive in time");
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

// --- refusals without a request ------------------------------------------------------------------

/// Refuses what cannot be read; nothing that follows on this connection can be trusted.
void Client::refuse_early(unsigned status, std::string_view what, bool head_only) {
  refuse_as(relay::bad_request(status, what), head_only);
}

void Client::refuse_as(relay::Refusal const& refusal, bool head_only) {
  parts_.observer.refused(refusal);
  end_ = relay::After::linger;
  std::string response;
  relay::append_refusal(response, refusal, {}, true, head_only);
  write(response);
  if (!dead_ && out_.empty()) {
    end_connection(end_);
  }
}

void Client::refuse_connection(relay::Refusal const& refusal) {
  last_wait_ = Wait::turned_away;  // if it were closed early, that would make no room
  refuse_as(refusal);
}

// --- its end -------------------------------------------------------------------------------------

bool Client::is_idle() const {
  return !request_ && out_.empty() && end_ == relay::After::keep;
}

void Client::part_soon() {
  if (is_idle()) {
    wait_for(Wait::parting);
  }
}

void Client::part_now() {
  if (is_idle()) {
    part();
  }
  if (!dead_ && request_ && request_->awaits_body()) {
    request_->break_off(
        relay::rejected_because(lifecycle::RejectedReason::draining, std::chrono::seconds(1)),
        lifecycle::Outcome::rejected);
  }
}

/// A request that crosses our end would be lost. So requests that have come are answered, and bytes
/// that come after our end are read: closing with unread bytes resets the connection.
void Client::part() {
  readable_ = true;
  pump();
  if (dead_ || request_ || end_ != relay::After::keep) {
    return;
  }
  if (in_.empty()) {
    end_connection(relay::After::linger);
  } else {
    refuse_early(408, "the request did not arrive in time");
  }
}

void Client::end_connection(relay::After end) {
  // Closing with unread bytes would reset the connection, and our last bytes would be lost.
  bool const has_unread = !in_.empty() || readable_;
  if (socket_ && (end == relay::After::linger || has_unread) && !half_closed_) {
    lingering_ = true;
    lingers_since_ = monotonic_time();
    if (tls_) {
      tls_->send_close_notify();
    }
    end_output(socket_);
    in_.clear();
    wait_for(last_wait_);
    if (!consuming_) {
      pump();
    }
    return;
  }
  close();
}

void Client::close() {
  if (dead_) {
    return;
  }
  dead_ = true;
  deadline_.disarm();
  if (request_) {
    request_->abandon();
  }
  if (tls_ && socket_ && !lingering_ && !half_closed_) {
    tls_->send_close_notify();
  }
  if (socket_) {
    parts_.poller.remove(socket_.get());
    socket_.close();
  }
  if (request_) {
    parts_.poller.bury_unwatched(std::move(request_));
  }
  owner_.closed(*this);
}

// --- room for others -----------------------------------------------------------------------------

void Client::weigh() {
  if (!dead_) {
    charge_.set((tls_ ? kTls : 0) + kPlain + in_.capacity() + out_.capacity());
    if (request_) {
      request_->weigh();
    }
    if (parts_.memory.is_exceeded()) {
      owner_.shed_soon();
    }
  }
}

/// A whole request that waits for its place or for the engine does not count, because its client is
/// not to blame.
std::size_t Client::dead_weight() const {
  return in_.size() + out_.size() + (request_ ? request_->unfinished() : 0);
}

/// Reads first, because an idle connection may have a request by now.
bool Client::give_way() {
  readable_ = true;
  pump();
  if (dead_) {
    return true;
  }
  if (request_ || (!lingering_ && !out_.empty())) {
    weigh();
    return false;
  }
  close();
  return true;
}

void Client::shed() {
  if (request_ && request_->has_sent_nothing() && out_.empty()) {
    request_->break_off(relay::no_memory(), lifecycle::Outcome::error);
  } else if (request_ && socket_) {
    // The client is slow to read: only a reset shows it that this is not the end, and frees the
    // kernel's buffer, too.
    request_->shed();
  }
  if (!dead_) {
    close();
  }
}

}  // namespace lastcall::ingress
