// The parts of a server, and the rules that join them: which connection becomes a peer, what a peer
// may send, and the end of connections and processes.
//
// Rules:
//  1. Lines and ends are checked here before the observer receives them (server_input.cpp).
//  2. Everything that peers are sent goes through the sender; the table of peers has those that are
//     known.
//
// Thread rule: the thread that runs the io_context. Source: docs/ipc.md.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ipc/greeter.hpp"
#include "ipc/last_words.hpp"
#include "ipc/listeners.hpp"
#include "ipc/peers.hpp"
#include "ipc/places.hpp"
#include "ipc/sender.hpp"
#include "ipc/server.hpp"
#include "ipc/session.hpp"
#include "ipc/turns.hpp"
#include "ipc/uid_rules.hpp"
#include "ipc/unflushed_outputs.hpp"

namespace lastcall::ipc {

class Server::Impl : public SessionOwner, public std::enable_shared_from_this<Server::Impl> {
 public:
  Impl(boost::asio::io_context& io, ServerOptions options, Observer& observer);

  Listeners& listeners() { return listeners_; }
  Peers const& peers() const { return peers_; }
  Sender& sender() { return sender_; }
  void flush() { turns_->unflushed()->flush(); }
  Greeter& greeter() { return greeter_; }
  void close_all();
  void abort_all();
  void forget(PeerId id);

 private:
  void accepted(Descriptor fd, bool is_admin);
  void take_place(Peer& peer);
  void drop(Peer const& peer);
  void line(PeerId id, std::string_view line) override;
  void line_too_long(PeerId id) override;
  void sent_no_hello(PeerId id) override;
  bool make_cancels(PeerId id, std::size_t room, std::string& out) override;
  void dropped(PeerId id, Drop why) override;
  void ended(PeerId id, std::string_view why) override;
  void process_ended(PeerId id) override;

  boost::asio::io_context& io_;
  std::shared_ptr<Turns> turns_;
  ServerOptions options_;
  Observer& observer_;
  Listeners listeners_;
  Peers peers_;
  Places places_;
  UidRules uids_;
  Sender sender_;
  std::shared_ptr<LastWords> last_words_;
  Greeter greeter_;
};

}  // namespace lastcall::ipc
