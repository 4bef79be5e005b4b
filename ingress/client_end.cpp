// How exchanges and connections end.
#include <utility>

#include "ingress/client.hpp"
#include "ingress/proxy.hpp"
#include "ingress/upstream.hpp"

namespace lastcall::ingress {

using Response = Exchange::Response;
using lifecycle::Outcome;

/// Instead of a response, of which nothing has been sent.
void Client::refuse(relay::Refusal const& refusal) {
  Exchange& x = *exchange_;
  drop_upstream();
  proxy_.tracker().refused(refusal);
  if (!x.request_done) {
    end_ = End::linger;
  } else if (!x.keep_alive || x.version == relay::Version::http10 || proxy_.is_closing(place_)) {
    end_ = End::close;  // which HTTP/1.0 waits for, where nothing says that the connection stays
  }
  x.response = Response::done;
  x.head_sent = true;
  std::string response;
  relay::append_refusal(response, refusal, {x.id, 0, 0}, end_ != End::keep, x.head_only);
  write(response);
  if (!dead_ && out_.empty()) {
    end_exchange();
  }
}

/// There is no exchange, and nothing that comes after this can be trusted.
void Client::refuse_early(unsigned status, std::string_view what, bool head_only) {
  refuse_as(relay::bad_request(status, what), head_only);
}

void Client::refuse_as(relay::Refusal const& refusal, bool head_only) {
  proxy_.tracker().refused(refusal);
  end_ = End::linger;
  std::string response;
  relay::append_refusal(response, refusal, {}, true, head_only);
  write(response);
  if (!dead_ && out_.empty()) {
    end_connection(end_);
  }
}

void Client::cut(relay::Refusal const& refusal, bool at_once) {
  if (!exchange_) {
    return;
  }
  if (exchange_->response != Response::done) {
    hand_off(refusal);
    break_off(refusal, Outcome::cancelled);
  } else if (at_once && !refusal.retryable) {
    // Its place is free; the rest of what it was sent is its connection's matter. What a stop cuts
    // is in flight until it has left: phase 3 waits for that as long as there is time.
    end_ = End::close;
    end_exchange();
  }
}

void Client::hand_off(relay::Refusal const& refusal) {
  Exchange const& x = *exchange_;
  if (x.begun && refusal.retryable) {
    proxy_.tracker().handed_off(
        {.id = x.id,
         .endpoint = x.endpoint,
         .model = x.model.empty() ? proxy_.options().default_model : x.model,
         .reason = refusal.reason,
         .events = x.events_sent(),
         .bytes = x.bytes_sent});
  }
}

/// A stream of events ends with an error event, anything else without its end: no client can take
/// it for complete.
void Client::break_off(relay::Refusal const& refusal, Outcome outcome) {
  Exchange& x = *exchange_;
  drop_upstream();
  std::uint64_t const events_sent = x.events_sent();
  x.held.reset();
  x.outcome = outcome;
  x.is_cut = true;
  if (!x.head_sent) {
    refuse(refusal);
    return;
  }
  end_ = x.request_done ? End::close : End::linger;
  bool const can_say_so = x.response == Response::body && x.is_event_stream && !x.is_torn &&
                          (x.chunked_to_client || x.closes_with_it);
  x.response = Response::done;
  if (!can_say_so) {
    if (x.closes_with_it) {
      proxy_.poller().remove(socket_.get());
      socket_.abort();
    }
    out_.clear();
    end_exchange();
    return;
  }
  std::string event;
  relay::append_error_event(event, refusal, {x.id, events_sent, x.bytes_sent});
  std::string wire;
  emit(event, {}, wire);
  write(wire);
  if (!dead_ && out_.empty()) {
    end_exchange();
  }
}

/// The client's connection is of no use any more.
void Client::lost() {
  if (dead_) {
    return;
  }
  if (!exchange_) {
    close();
    return;
  }
  if (must_stay()) {
    leave_to_engine();
    return;
  }
  Exchange& x = *exchange_;
  drop_upstream();
  if (x.begun && !x.is_cut) {
    proxy_.tracker().client_gone(x.id, lifecycle::CancelMode::kill);
    x.outcome = Outcome::cancelled;
  }
  end_ = End::close;
  half_closed_ = true;  // nobody is left to linger for
  out_.clear();
  end_exchange();
}

/// The engine has the whole request or will have it, and may not lose it before its first byte.
bool Client::must_stay() const {
  Exchange const& x = *exchange_;
  return x.defers_cancel && !x.held && x.begun && x.request_done && !x.request_is_broken &&
         !x.is_cut && x.response <= Response::body && !x.has_first_byte && upstream_ != nullptr &&
         upstream_->is_connected();
}

/// The client has gone, and is counted so; the request is in flight until the engine has let go.
void Client::leave_to_engine() {
  Exchange& x = *exchange_;
  x.outcome = Outcome::cancelled;
  proxy_.tracker().client_gone(x.id, lifecycle::CancelMode::stop);
  half_closed_ = true;
  std::exchange(upstream_, nullptr)->outlive(std::move(exchange_));
  close();
}

void Client::drop_upstream() {
  if (upstream_ != nullptr) {
    std::exchange(upstream_, nullptr)->release(false);
  }
}

void Client::end_exchange() {
  drop_upstream();
  std::unique_ptr<Exchange> const ended = std::move(exchange_);
  if (ended->begun) {
    proxy_.tracker().ended(ended->id, ended->outcome);
  }
  if (ended->counts) {
    proxy_.leave(ended->id);
  }
  if (dead_) {
    return;
  }
  if (end_ != End::keep) {
    if (out_.empty()) {  // else when that has left
      end_connection(end_);
    }
    return;
  }
  proxy_.deadlines().arm(deadline_, proxy_.is_parting() ? Wait::parting : Wait::keep_alive);
  next();
}

bool Client::is_idle() const {
  return !exchange_ && out_.empty() && end_ == End::keep;
}

void Client::part_soon() {
  if (is_idle()) {
    proxy_.deadlines().arm(deadline_, Wait::parting);
  }
}

void Client::part_if_idle() {
  if (is_idle()) {
    part();
  }
}

/// A request that crosses our end would be lost: what has come is answered, and behind our end what
/// comes is read, because closing with something unread resets the connection.
void Client::part() {
  readable_ = true;
  pump();
  if (dead_ || exchange_ || end_ != End::keep) {
    return;
  }
  if (in_.empty()) {
    end_connection(End::linger);
  } else {
    refuse_early(408, "the request did not come in time");
  }
}

void Client::end_connection(End end) {
  // Closing with unread bytes would reset the connection, and our last words with it.
  bool const has_unread = !in_.empty() || readable_;
  if (socket_ && (end == End::linger || has_unread) && !half_closed_) {
    lingering_ = true;
    lingers_since_ = monotonic_now();
    if (tls_) {
      tls_->say_goodbye();
    }
    end_output(socket_);
    in_.clear();
    proxy_.deadlines().arm(deadline_, last_wait_);
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
  drop_upstream();
  if (tls_ && socket_ && !lingering_ && !half_closed_) {
    tls_->say_goodbye();
  }
  if (socket_) {
    proxy_.poller().remove(socket_.get());
    socket_.close();
  }
  if (exchange_) {
    std::unique_ptr<Exchange> const ended = std::move(exchange_);
    if (ended->begun) {
      proxy_.tracker().ended(ended->id, Outcome::cancelled);
    }
    if (ended->counts) {
      proxy_.leave(ended->id);
    }
  }
  proxy_.ended(*this);
}

}  // namespace lastcall::ingress
