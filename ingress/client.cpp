#include "ingress/client.hpp"

#include <utility>

#include <sys/epoll.h>

#include "ingress/client_parts.hpp"

namespace lastcall::ingress {

Client::Client(ClientParts& parts, ClientOwner& owner, Accepted accepted)
    : RequestOwner(connection_),
      parts_(parts),
      owner_(owner),
      connection_(parts, *this, std::move(accepted.socket), std::move(accepted.tls)),
      request_({.is_proxy = parts.options.trusted_proxies.contain(accepted.address),
                .place = accepted.place,
                .since = parts.poller.now(),
                .of_address = std::move(accepted.of_address),
                .address = std::move(accepted.address)}),
      charge_(parts.memory) {
  connection_.wait_for(Wait::request);
  weigh();
}

void Client::ready(std::uint32_t events) {
  if (connection_.is_closed()) {
    return;
  }
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
    lost();
    return;
  }
  ClientSocket& socket = connection_.socket();
  socket.note(events);
  if ((events & EPOLLOUT) != 0 || socket.is_greeting()) {
    connection_.write_more();
  }
  // A client that ends its output before it has its answer counts as gone, as other proxies see it,
  // too; requests that only read are answered all the same.
  auto const has_left = [this, &socket] {
    return socket.has_ended() && request_ && request_->needs_its_client();
  };
  if (!connection_.is_closed() && !has_left()) {
    connection_.read_more();
  }
  if (!connection_.is_closed() && !wants_input()) {
    socket.look_for_end();
  }
  if (!connection_.is_closed() && has_left()) {
    lost();
  }
  weigh();
}

bool Client::wants_input() const {
  if (request_) {
    return request_->wants_input();
  }
  switch (connection_.state()) {
    case ClientConnection::State::open:
      return connection_.is_flushed();
    case ClientConnection::State::lingering:
      return true;
    case ClientConnection::State::ending:
    case ClientConnection::State::closed:
      return false;
  }
  return false;
}

std::size_t Client::use(std::span<char> bytes) {
  if (request_) {
    return request_->takes_body() ? request_->take(bytes) : 0;
  }
  if (connection_.state() != ClientConnection::State::open) {
    return 0;
  }
  relay::TakenHead const& taken = parts_.taken;
  switch (request_.begin({bytes.data(), bytes.size()}, parts_, *this)) {
    case relay::RequestReader::Found::incomplete:
      return 0;
    case relay::RequestReader::Found::refused:
      // Nothing that follows on this connection can be trusted.
      refuse(relay::bad_request(taken.fault.status, taken.fault.what), Wait::linger,
             taken.asked.is_head);
      return 0;
    case relay::RequestReader::Found::complete:
      return taken.length;
  }
  return 0;
}

void Client::kept() {
  if (!request_ && connection_.state() == ClientConnection::State::open) {
    connection_.wait_for(Wait::request);  // for the rest of the head, once
  }
}

void Client::input_over(Io why) {
  ClientSocket& socket = connection_.socket();
  if (why == Io::ended && request_ && request_->is_tunnel()) {
    request_->client_ended_tunnel();
    return;
  }
  if (why == Io::broken && socket.tls() != nullptr) {
    if (socket.tls()->is_plain_http()) {
      socket.drop_tls();
      refuse(relay::bad_request(400, "the request is not encrypted: expected TLS at this port"));
      return;
    }
    if (socket.tls()->failure()) {
      parts_.observer.greeting_failed({*socket.tls()->failure(), request_.address()});
    }
  }
  lost();
}

void Client::written() {
  if (request_) {
    request_->flushed();
  }
}

void Client::ended(relay::After after) {
  parts_.poller.bury_unwatched(request_.take_out());
  weigh();
  if (after != relay::After::keep) {
    connection_.end_once_written(after);
  } else if (!connection_.is_closed()) {
    connection_.wait_for(parts_.departure.is_parting() ? Wait::parting : Wait::keep_alive);
    connection_.read_kept();
  }
}

std::unique_ptr<ClientRequest> Client::give_up_request() {
  std::unique_ptr<ClientRequest> request = request_.take_out();
  close();
  return request;
}

}  // namespace lastcall::ingress
