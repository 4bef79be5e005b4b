// The state of a server: its listeners, its peers, and the checks between lines and the observer.
//
// Rules:
//  1. A peer is looked up by id at each step, because a callback may have closed or forgotten it.
//  2. Calls of the public class are in server.cpp; input from sockets is in server_input.cpp; the
//     places of peers are in server_crowd.cpp.
//
// Thread rule: the thread that runs the io_context. Source: docs/ipc.md.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ipc/listener.hpp"
#include "ipc/server.hpp"
#include "ipc/session.hpp"

namespace lastcall::ipc {

enum class Stage : std::uint8_t { greeting, welcomed, refused };

struct Peer {
  PeerId id{};
  bool is_admin{};  // it connected to the admin socket
  Stage stage{Stage::greeting};
  PeerInfo info;
  Seq hello_seq;
  std::shared_ptr<Session> session;
  CancelBatch batch;  // taken from the observer, not yet written
  std::size_t batch_next{};
  std::uint64_t next_seq{1};
  bool process_is_gone{};
  bool is_extra{};  // beyond max_connections, until its hello shows that it is the shim
};

/// The line of an error, with its text cut to a reasonable length.
std::string error_line(Seq seq, ErrorCode code, std::string_view message);

class Server::Impl : public SessionOwner, public std::enable_shared_from_this<Server::Impl> {
 public:
  Impl(boost::asio::io_context& io, ServerOptions options, Observer& observer);

  std::optional<std::string> listen();
  void welcome(PeerId id, Welcome const& welcome);
  void refuse(PeerId id, ErrorCode code, std::string_view message);
  void send(PeerId id, FromSupervisor const& message);
  std::uint64_t send_acked(PeerId id, FromSupervisor const& message);
  void ack(PeerId id, Seq seq, std::string_view result);
  void error(PeerId id, Seq seq, ErrorCode code, std::string_view message);
  void cancels_ready(PeerId id);
  void follow_sockets();
  void flush() { outbox_->flush(); }
  void forget_output() { outbox_->clear(); }
  void close(PeerId id);
  void close_all();
  void abort_all();
  bool is_flushed() const;
  void forget(PeerId id);
  PeerInfo const* info(PeerId id) const;
  Descriptor take_passed(PeerId id);

 private:
  Listener::Handlers handlers(bool is_admin);
  std::shared_ptr<Peer> find(PeerId id) const;
  std::shared_ptr<Peer> find_open(PeerId id) const;
  void drop(Peer const& peer);
  void accepted(Descriptor fd, bool is_admin);
  void complain_once(uid_t uid);
  bool is_allowed(Peer const& peer) const;
  void send(Peer& peer, FromSupervisor const& message, Seq seq);
  void send_error(Peer& peer, Seq seq, ErrorCode code, std::string_view message);
  void refuse(Peer& peer, Seq seq, ErrorCode code, std::string_view message);
  void dropped(PeerId id, Drop why) override;
  // server_crowd.cpp: who gets a place.
  std::string_view why_no_place(bool is_admin, pid_t pid) const;
  std::size_t limit(bool is_admin) const;
  void take_place(Peer& peer);
  void give_place_back(Peer const& peer);
  void make_room_for_extra();
  bool make_cancels(PeerId id, std::size_t room, std::string& out) override;
  void line(PeerId id, std::string_view line) override;
  void greet(Peer& peer, Hello&& hello, Seq seq);
  void line_too_long(PeerId id) override;
  void sent_no_hello(PeerId id) override;
  void ended(PeerId id, std::string_view why) override;
  void process_gone(PeerId id) override;
  void receive_rest(pid_t pid, PeerId below);

  boost::asio::io_context& io_;
  std::shared_ptr<Outbox> outbox_;
  ServerOptions options_;
  Observer& observer_;
  Listener engines_;
  Listener admins_;
  std::unordered_map<PeerId, std::shared_ptr<Peer>> peers_;
  std::vector<uid_t> refused_uids_;
  PeerId last_id_{};
  std::array<std::size_t, 2> connections_{};  // by is_admin, without extra ones
  std::map<std::pair<bool, pid_t>, std::size_t> held_by_;
  std::deque<PeerId> extra_;
};

}  // namespace lastcall::ipc
