#include "ipc/sender.hpp"

#include <utility>

#include "base/utf8.hpp"
#include "ipc/codec.hpp"

namespace lastcall::ipc {

std::string error_line(Seq seq, ErrorCode code, std::string_view message) {
  constexpr std::size_t kMost = 1024;
  std::string line;
  (void)encode(FromSupervisor(Error{seq, code, std::string(utf8::prefix(message, kMost))}),
               std::nullopt, line);
  return line;
}

void Sender::send(PeerId id, FromSupervisor const& message) {
  if (auto const peer = peers_.find_open(id)) {
    send(*peer, message);
  }
}

void Sender::ack(PeerId id, Seq seq, std::string_view result) {
  auto const peer = peers_.find_open(id);
  if (!peer || !seq) {
    return;
  }
  SessionOutput& output = peer->session->output();
  if (encode(FromSupervisor(Ack{*seq, std::string(result)}), std::nullopt, output.waiting())) {
    output.queued();
  } else {
    error(*peer, seq, ErrorCode::too_long, "the answer does not fit into a line");
  }
}

void Sender::error(PeerId id, Seq seq, ErrorCode code, std::string_view message) {
  if (auto const peer = peers_.find_open(id)) {
    error(*peer, seq, code, message);
  }
}

void Sender::refuse(PeerId id, ErrorCode code, std::string_view message) {
  if (auto const peer = peers_.find(id)) {
    refuse(*peer, peer->stage == Stage::greeting ? peer->hello_seq : std::nullopt, code, message);
  }
}

void Sender::cancels_ready(PeerId id) {
  if (auto const peer = peers_.find_open(id)) {
    peer->session->output().cancels_ready();
  }
}

void Sender::close(PeerId id) {
  if (auto const peer = peers_.find_open(id)) {
    peer->session->close("closed by the supervisor");
  }
}

void Sender::send(Peer& peer, FromSupervisor const& message) {
  SessionOutput& output = peer.session->output();
  if (encode(message, std::nullopt, output.waiting())) {
    output.queued();
    return;
  }
  report_("cannot send '" + std::string(op_of(message)) + "' to " + peer.info.name +
          ": a field exceeds the protocol's limits");
}

void Sender::error(Peer& peer, Seq seq, ErrorCode code, std::string_view message) {
  observer_.error_sent(code);
  SessionOutput& output = peer.session->output();
  output.waiting() += error_line(seq, code, message);
  output.queued();
}

void Sender::refuse(Peer& peer, Seq seq, ErrorCode code, std::string_view message) {
  if (!peer.session->is_open()) {
    return;
  }
  if (peer.stage == Stage::greeting) {
    peer.stage = Stage::refused;
  }
  if (code != ErrorCode::busy) {  // `busy` asks the peer to try again
    observer_.peer_dropped(code == ErrorCode::not_allowed ? Drop::not_allowed : Drop::protocol);
  }
  error(peer, seq, code, message);
  peer.session->close(message);
}

}  // namespace lastcall::ipc
