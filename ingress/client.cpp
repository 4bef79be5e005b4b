#include "ingress/client.hpp"

#include <utility>

#include <sys/epoll.h>

#include "ingress/proxy.hpp"
#include "ingress/upstream.hpp"

namespace lastcall::ingress {
namespace {

constexpr int kReadsATurn = 16;
constexpr std::size_t kMostForEngine = 64 * 1024;
/// Who still sends then does not read our last words.
constexpr std::chrono::seconds kMostLinger{30};

}  // namespace

Client::Client(Proxy& proxy, Accepted accepted)
    : proxy_(proxy),
      socket_(std::move(accepted.socket)),
      tls_(std::move(accepted.tls)),
      of_address_(std::move(accepted.of_address)),
      address_(std::move(accepted.address)),
      is_proxy_(proxy.options().trusted_proxies.contain(address_)),
      place_(accepted.place),
      charge_(proxy.memory()) {
  proxy_.deadlines().arm(deadline_, Wait::request);
  weigh();
}

void Client::ready(std::uint32_t events) {
  if (dead_) {
    return;
  }
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
    lost();
    return;
  }
  half_closed_ = half_closed_ || (events & EPOLLRDHUP) != 0;
  readable_ = readable_ || half_closed_ || (events & EPOLLIN) != 0;
  // The begin of a TLS session waits for either direction in both.
  bool const is_greeting = tls_ && !tls_->is_established();
  readable_ = readable_ || is_greeting;
  if (((events & EPOLLOUT) != 0 || is_greeting) && !out_.empty()) {
    flush();
  }
  if (!dead_ && !has_left()) {
    pump();
  }
  if (!dead_ && tls_ && readable_ && !half_closed_ && !wants_input()) {
    half_closed_ = tls_->has_ended();
  }
  if (!dead_ && has_left()) {
    lost();
  }
  weigh();
}

IoResult Client::receive(std::span<char> into) {
  return tls_ ? tls_->read(into) : read_some(socket_, into);
}

IoResult Client::send(std::string_view bytes) {
  return tls_ ? tls_->write(bytes) : write_some(socket_, bytes);
}

/// Whoever ends what it sends before it has its answer has gone, as other proxies see it too; those
/// that only look are answered all the same.
bool Client::has_left() const {
  return half_closed_ && exchange_ && exchange_->counts &&
         exchange_->response < Exchange::Response::tunnel;
}

bool Client::wants_input() const {
  if (lingering_) {
    return true;
  }
  if (!exchange_) {
    return end_ == End::keep && out_.empty();
  }
  Exchange const& x = *exchange_;
  bool const has_room =
      x.to_engine.size() - x.to_engine_at < kMostForEngine ||
      (x.begun && !x.admitted && x.waiting.has_room() && !proxy_.memory().is_tight());
  return !x.request_done && x.response != Exchange::Response::done && has_room;
}

void Client::pump() {
  int reads = 0;
  while (!dead_ && readable_ && wants_input()) {
    if (++reads > kReadsATurn) {
      proxy_.poller().again(*this);
      return;
    }
    std::span<char> const scratch = proxy_.scratch_for_clients();
    IoResult const got = receive(scratch);
    switch (got.io) {
      case Io::some:
        readable_ = half_closed_ || tls_ || got.size == scratch.size();
        if (!lingering_) {
          input(scratch.first(got.size));
        } else if (monotonic_now() - lingers_since_ < kMostLinger) {
          proxy_.deadlines().arm(deadline_, last_wait_);  // it sends on before it reads
        }
        break;
      case Io::would_block:
        readable_ = false;
        break;
      case Io::ended:
        readable_ = false;
        if (exchange_ && exchange_->response == Exchange::Response::tunnel) {
          exchange_->request_done = true;
          pass_on_the_end();
          await_response();
        } else {
          lost();
        }
        break;
      case Io::broken:
        broke();
        break;
    }
  }
}

void Client::broke() {
  if (tls_ && tls_->is_plain_http()) {
    tls_.reset();
    refuse_early(400, "plain HTTP where TLS is expected");
  } else {
    lost();
  }
}

void Client::input(std::span<char> bytes) {
  bool const continues = !in_.empty();
  if (continues) {
    in_.append(bytes.data(), bytes.size());
    forget_read(consume(in_));
  } else {
    std::span<char> const rest = bytes.subspan(consume(bytes));
    if (!dead_ && !lingering_) {
      in_.append(rest.data(), rest.size());
    }
  }
  if (!continues && !in_.empty() && !exchange_ && !dead_ && end_ == End::keep) {
    proxy_.deadlines().arm(deadline_, Wait::request);  // for the rest of the head, once
  }
}

/// A body may have come behind a head that was in pieces: its room is not kept.
void Client::forget_read(std::size_t used) {
  in_.erase(0, used);
  if (in_.empty()) {
    std::string().swap(in_);
  }
}

std::size_t Client::consume(std::span<char> bytes) {
  consuming_ = true;
  std::size_t used = 0;
  while (used < bytes.size() && !dead_) {
    std::size_t taken = 0;
    if (!exchange_) {
      taken = end_ == End::keep ? request_head(bytes.subspan(used)) : 0;
    } else if (!exchange_->request_done && exchange_->response != Exchange::Response::done) {
      taken = request_body(bytes.subspan(used));
    }
    if (taken == 0) {
      break;
    }
    used += taken;
  }
  consuming_ = false;
  return used;
}

void Client::next() {
  if (consuming_ || dead_ || exchange_) {
    return;  // whoever consumes goes on by itself
  }
  read_on();
}

/// What was read and not used first.
void Client::read_on() {
  if (!in_.empty()) {
    forget_read(consume(in_));
  }
  pump();
}

// --- output --------------------------------------------------------------------------------------

void Client::write(std::string_view bytes) {
  if (bytes.empty() || dead_) {
    return;
  }
  if (out_.empty()) {
    IoResult const put = send(bytes);
    if (put.io == Io::broken) {
      lost();
      return;
    }
    bytes.remove_prefix(put.size);
  }
  if (!bytes.empty()) {
    out_.append(bytes);
    proxy_.deadlines().arm(deadline_, Wait::client);
  }
}

void Client::flush() {
  IoResult const put = send(std::string_view(out_).substr(out_at_));
  if (put.io == Io::broken) {
    lost();
    return;
  }
  out_at_ += put.size;
  if (put.size > 0) {
    proxy_.deadlines().arm(deadline_, Wait::client);
  }
  if (out_at_ == out_.size()) {
    out_at_ = 0;
    std::string().swap(out_);  // an idle stream holds nothing
    written();
  }
}

/// The client has taken all that waited for it.
void Client::written() {
  if (!exchange_) {
    if (end_ != End::keep) {
      end_connection(end_);
    }
    return;
  }
  if (exchange_->response == Exchange::Response::done) {
    end_exchange();
    return;
  }
  if (exchange_->is_malformed && !exchange_->held) {
    engine_failed();
    return;
  }
  await_response();
  take_early_words();
  if (upstream_ != nullptr) {
    upstream_->pump();
  }
}

// --- ends ----------------------------------------------------------------------------------------

void Client::expired(Wait wait) {
  switch (wait) {
    case Wait::request:
    case Wait::body:
    case Wait::client:
      if (!exchange_ && out_.empty() && !in_.empty()) {
        refuse_early(408, "the request did not come in time");
      } else {
        lost();
      }
      return;
    case Wait::ending:
    case Wait::linger:
    case Wait::turned_away:
      exchange_ ? end_exchange() : close();
      return;
    case Wait::keep_alive:
    case Wait::parting:
      part();
      return;
    case Wait::connect_again:
    case Wait::upstream_idle:
    case Wait::left:
      close();
      return;
    case Wait::connect:
      connect_failed();
      return;
    case Wait::first_byte:
      break_off(relay::timed_out("the engine did not answer in time", true),
                lifecycle::Outcome::error);
      return;
    case Wait::idle:
      break_off(relay::timed_out("the engine's response stood still for too long",
                                 !exchange_->has_first_byte),
                lifecycle::Outcome::error);
      return;
    case Wait::total:
      break_off(relay::timed_out("the request took too long", false), lifecycle::Outcome::error);
      return;
    case Wait::held:
      let_through();
      return;
    case Wait::verdict:
      engine_lives();
      return;
  }
}

void Client::refuse_connection(relay::Refusal const& refusal) {
  last_wait_ = Wait::turned_away;  // closing it early would make no room
  refuse_as(refusal);
}

}  // namespace lastcall::ingress
