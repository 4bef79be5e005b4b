// Sends the peers their messages, answers, errors and refusals.
//
// Rules:
//  1. Calls for a peer that is gone, closing or not welcomed do nothing; a refusal reaches one that
//     was not welcomed, too.
//  2. A message that does not fit into the protocol is not sent, and is reported; an answer that
//     does not fit becomes an error.
//  3. A line is encoded into the buffer of the peer's session, which sends it at the end of the
//     turn.
//
// Thread rule: the thread that runs the io_context. Source: docs/ipc.md.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "ipc/peers.hpp"
#include "ipc/server.hpp"

namespace lastcall::ipc {

/// The line of an error, with its text cut to a reasonable length.
std::string error_line(Seq seq, ErrorCode code, std::string_view message);

class Sender {
 public:
  using Report = std::function<void(std::string what)>;

  /// `report` passes trouble to the observer, in a later turn. The others must outlive this.
  Sender(Peers const& peers, Observer& observer, Report report)
      : peers_(peers), observer_(observer), report_(std::move(report)) {}

  void send(PeerId id, FromSupervisor const& message);
  void ack(PeerId id, Seq seq, std::string_view result);
  void error(PeerId id, Seq seq, ErrorCode code, std::string_view message);
  void refuse(PeerId id, ErrorCode code, std::string_view message);
  void cancels_ready(PeerId id);
  void close(PeerId id);

  // The same for a peer that the caller has looked up, whatever its stage.

  void send(Peer& peer, FromSupervisor const& message);
  void error(Peer& peer, Seq seq, ErrorCode code, std::string_view message);
  void refuse(Peer& peer, Seq seq, ErrorCode code, std::string_view message);

 private:
  Peers const& peers_;
  Observer& observer_;
  Report report_;
};

}  // namespace lastcall::ipc
