#include "ingress/client.hpp"

#include <utility>

#include <sys/epoll.h>

#include "base/clock.hpp"
#include "base/same_secret.hpp"
#include "ingress/client_parts.hpp"

namespace lastcall::ingress {
namespace {

constexpr int kReadsATurn = 16;
/// The size of a read while memory is scarce, because bytes that come after a request are kept.
constexpr std::size_t kSmallRead = std::size_t{4} * 1024;
/// A client that still sends after this time does not read our last bytes.
constexpr std::chrono::seconds kMostLinger{30};
/// The log shows no more of a path.
constexpr std::size_t kMaxLoggedPath = 200;

}  // namespace

Client::Client(ClientParts& parts, ClientOwner& owner, Accepted accepted)
    : socket_(std::move(accepted.socket)),
      parts_(parts),
      owner_(owner),
      tls_(std::move(accepted.tls)),
      of_address_(std::move(accepted.of_address)),
      address_(std::move(accepted.address)),
      is_proxy_(parts.options.trusted_proxies.contain(address_)),
      place_(accepted.place),
      charge_(parts.memory) {
  wait_for(Wait::request);
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
  // While a TLS session begins, either direction may wait for both.
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

void Client::wait_for(Wait wait) {
  parts_.deadlines.arm(deadline_, wait);
}

IoResult Client::receive(std::span<char> into) {
  return tls_ ? tls_->read(into) : read_some(socket_, into);
}

IoResult Client::send(std::string_view bytes) {
  return tls_ ? tls_->write(bytes) : write_some(socket_, bytes);
}

/// A client that ends its output before it has its answer counts as gone, as other proxies see it,
/// too; requests that only read are answered all the same.
bool Client::has_left() const {
  return half_closed_ && request_ && request_->needs_its_client();
}

bool Client::wants_input() const {
  if (lingering_) {
    return true;
  }
  return request_ ? request_->wants_input() : end_ == relay::After::keep && out_.empty();
}

void Client::pump() {
  int reads = 0;
  while (!dead_ && readable_ && wants_input()) {
    if (++reads > kReadsATurn) {
      parts_.poller.again(*this);
      return;
    }
    std::span<char> const scratch = parts_.memory.is_tight()
                                        ? std::span(parts_.scratch).first(kSmallRead)
                                        : std::span(parts_.scratch);
    IoResult const got = receive(scratch);
    switch (got.io) {
      case Io::some:
        readable_ = half_closed_ || tls_ || got.size == scratch.size();
        if (!lingering_) {
          input(scratch.first(got.size));
        } else if (monotonic_time() - lingers_since_ < kMostLinger) {
          wait_for(last_wait_);  // the client sends on before it reads
        }
        break;
      case Io::would_block:
        readable_ = false;
        break;
      case Io::ended:
        readable_ = false;
        if (request_ && request_->is_tunnel()) {
          request_->client_ended_tunnel();
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
    refuse_early(400, "the request is not encrypted: expected TLS at this port");
  } else {
    if (tls_ && tls_->failure()) {
      parts_.observer.greeting_failed({*tls_->failure(), address_});
    }
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
  if (!continues && !in_.empty() && !request_ && !dead_ && end_ == relay::After::keep) {
    wait_for(Wait::request);  // for the rest of the head, once
  }
}

/// A body may have followed a head that came in pieces, so the room for it is not kept.
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
    if (!request_) {
      taken = end_ == relay::After::keep ? take_head(bytes.subspan(used)) : 0;
    } else if (request_->takes_body()) {
      taken = request_->take(bytes.subspan(used));
    }
    if (taken == 0) {
      break;
    }
    used += taken;
  }
  consuming_ = false;
  return used;
}

void Client::read_more() {
  if (!consuming_ && !dead_) {  // while bytes are consumed, that loop goes on by itself
    pump();
  }
}

void Client::read_kept() {
  if (!consuming_ && !dead_) {
    read_on();
  }
}

/// Continues with bytes that were read and not used.
void Client::read_on() {
  if (!in_.empty()) {
    forget_read(consume(in_));
  }
  pump();
}

// --- heads ---------------------------------------------------------------------------------------

std::size_t Client::take_head(std::span<char> bytes) {
  relay::TakenHead& taken = parts_.taken;
  relay::RequestReader::Limits const limits{.head = parts_.options.max_head,
                                            .body = parts_.options.max_body};
  switch (reader_.read({bytes.data(), bytes.size()}, limits, taken)) {
    case relay::RequestReader::Found::incomplete:
      return 0;
    case relay::RequestReader::Found::refused:
      refuse_early(taken.fault.status, taken.fault.what, taken.asked.is_head);
      return 0;
    case relay::RequestReader::Found::complete:
      return begin(taken) ? taken.length : 0;
  }
  return 0;
}

bool Client::begin(relay::TakenHead const& taken) {
  relay::RequestHead const& head = taken.head;
  std::string_view const target = taken.destination.target;
  relay::ControlPaths::Decision const control = parts_.control_paths.decide(target);
  if (control.is_ambiguous) {
    refuse_early(400, "the path has a dot segment or a control character: expected neither",
                 taken.asked.is_head);
    return false;
  }
  bool const is_closed =
      control.access != relay::Access::relay && !may_control(head, target, control);
  RequestClient const client{.connection = *this,
                             .address = address_,
                             .scheme = tls_ ? "https" : "http",
                             .is_proxy = is_proxy_,
                             .place = place_};
  request_ = parts_.maker.make(client, taken, is_closed, control.is_control);
  if (is_closed) {
    Control const& operators = parts_.options.control;
    bool const has_operators = !operators.token.empty() || !operators.certificates.empty();
    request_->refuse(
        relay::control_path_closed(control.access == relay::Access::operators && has_operators));
    return true;
  }
  if (control.access == relay::Access::relay && control.rest != relay::Rest::none) {
    parts_.observer.control_called({.is_granted = true,
                                    .is_open = true,
                                    .rest = control.rest,
                                    .certificate = {},
                                    .method = head.method,
                                    .path = target.substr(0, kMaxLoggedPath),
                                    .address = address_});
  }
  request_->prepare(taken, client);
  if (request_->counts() && parts_.memory.is_tight()) {
    parts_.observer.shed(Scarce::memory);
    request_->refuse(relay::no_memory());
    return true;
  }
  request_->start();
  if (request_ && taken.asked.expects_continue && request_->awaits_body()) {
    write("HTTP/1.1 100 Continue\r\n\r\n");
  }
  return true;
}

bool Client::may_control(relay::RequestHead const& head, std::string_view target,
                         relay::ControlPaths::Decision const& decision) {
  Control const& control = parts_.options.control;
  std::string_view given;
  std::string_view certificate;
  bool is_granted = false;
  if (decision.access == relay::Access::operators) {
    is_granted = !control.token.empty() && head.fields.count("x-lastcall-token", given) == 1 &&
                 same_secret(given, control.token);
    certificate = is_granted || !tls_ ? certificate : tls_->peer_named(control.certificates);
  }
  is_granted = is_granted || !certificate.empty();
  std::string_view const path = target.substr(0, target.find('?'));
  parts_.observer.control_called({.is_granted = is_granted,
                                  .rest = is_granted ? decision.rest : relay::Rest::none,
                                  .certificate = certificate,
                                  .method = head.method,
                                  .path = path.substr(0, kMaxLoggedPath),
                                  .address = address_});
  return is_granted;
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
    wait_for(Wait::client);
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
    wait_for(Wait::client);
  }
  if (out_at_ == out_.size()) {
    out_at_ = 0;
    std::string().swap(out_);  // an idle stream should hold no memory
    if (request_) {
      request_->flushed();
    } else if (end_ != relay::After::keep) {
      end_connection(end_);
    }
  }
}

}  // namespace lastcall::ingress
