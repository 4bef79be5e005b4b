// The way of a peer from its hello to its welcome, and the report that its process has ended, which
// comes after the welcome.
//
// Rules:
//  1. A hello reaches the observer only if its role fits the socket, and if the peer has a place.
//  2. The observer welcomes or refuses the peer before its hello() returns; else it is refused.
//  3. What must be received before a hello or the end of a process is reported: last_words.hpp.
//
// Thread rule: the thread that runs the io_context. Source: docs/ipc.md.
#pragma once

#include "ipc/last_words.hpp"
#include "ipc/peers.hpp"
#include "ipc/sender.hpp"
#include "ipc/server.hpp"

namespace lastcall::ipc {

class Greeter {
 public:
  /// All of them outlive it.
  Greeter(Peers const& peers, LastWords& last_words, Sender& sender, Observer& observer)
      : peers_(peers), last_words_(last_words), sender_(sender), observer_(observer) {}

  void greet(Peer& peer, Hello&& hello, Seq seq);
  void welcome(PeerId id, Welcome const& welcome);
  /// Everything that the process had sent was received.
  void process_gone(PeerId id);

 private:
  void pass_on(PeerId id, Hello&& hello, Seq seq);

  Peers const& peers_;
  LastWords& last_words_;
  Sender& sender_;
  Observer& observer_;
};

}  // namespace lastcall::ipc
