#include "ipc/greeter.hpp"

#include <memory>
#include <optional>
#include <utility>

namespace lastcall::ipc {

void Greeter::greet(Peer& peer, Hello&& hello, Seq seq) {
  if ((hello.role == Role::operator_) != peer.is_admin) {
    return sender_.refuse(peer, seq, ErrorCode::not_allowed,
                          peer.is_admin ? "only role operator may use the admin socket"
                                        : "role operator may use only the admin socket");
  }
  bool const has_right_of_way = hello.role == Role::shim || hello.role == Role::hook;
  if (peer.is_extra && !has_right_of_way) {
    return sender_.refuse(peer, seq, ErrorCode::busy, "too many connections");
  }
  if (hello.role != Role::engine || hello.live == 0) {
    return pass_on(peer.id, std::move(hello), seq);
  }
  auto const held = std::make_shared<Hello>(std::move(hello));
  if (!last_words_.before_hello(
          peer, [this, id = peer.id, held, seq] { pass_on(id, std::move(*held), seq); })) {
    pass_on(peer.id, std::move(*held), seq);
  }
}

void Greeter::pass_on(PeerId id, Hello&& hello, Seq seq) {
  auto const peer = peers_.find(id);
  if (!peer || peer->stage != Stage::greeting || !peer->session->is_open()) {
    return;  // it was closed while its hello had to wait
  }
  peer->hello_seq = seq;
  peer->info.role = hello.role;
  peer->info.name = hello.name;
  peer->info.sdk = hello.sdk;
  observer_.hello(id, std::move(hello));
  if (peer->stage == Stage::greeting) {
    sender_.refuse(*peer, seq, ErrorCode::busy, "the supervisor does not accept this peer now");
  } else if (peer->stage == Stage::welcomed) {
    sender_.ack(id, seq, {});
  }
}

void Greeter::welcome(PeerId id, Welcome const& welcome) {
  auto const peer = peers_.find(id);
  if (!peer || peer->stage != Stage::greeting) {
    return;
  }
  peer->stage = Stage::welcomed;
  bool const is_shim = peer->info.role == Role::shim;
  peer->session->greeted(is_shim);
  if (is_shim) {
    peer->session->input().give_right_of_way();
  }
  sender_.send(*peer, welcome);
  if (peer->process_is_gone) {
    last_words_.process_ended(*peer);
  }
}

void Greeter::process_gone(PeerId id) {
  auto const peer = peers_.find(id);
  if (!peer) {
    return;
  }
  peer->process_is_gone = true;
  if (peer->stage == Stage::welcomed) {
    observer_.process_gone(id);
  }
}

}  // namespace lastcall::ipc
