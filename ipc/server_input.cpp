// The input from the sockets (connections, lines, ends), which is checked before the observer
// receives it.
#include <algorithm>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

#include "ipc/codec.hpp"
#include "ipc/server_impl.hpp"
#include "ipc/unix_socket.hpp"

namespace lastcall::ipc {
namespace {

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

Listener::Handlers Server::Impl::handlers(bool is_admin) {
  return {[this, is_admin](Descriptor fd) { accepted(std::move(fd), is_admin); },
          [this](std::string const& what) { observer_.trouble(what); }};
}

void Server::Impl::accepted(Descriptor fd, bool is_admin) {
  auto const credentials = peer_credentials(fd.get());
  if (!credentials) {
    return;  // the peer has gone already
  }
  if (std::string_view const why = why_no_place(is_admin, credentials->pid); !why.empty()) {
    observer_.error_sent(ErrorCode::busy);
    std::string const line = error_line(std::nullopt, ErrorCode::busy, why);
    (void)::send(fd.get(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    return;
  }
  auto peer = std::make_shared<Peer>();
  peer->id = ++last_id_;
  peer->is_admin = is_admin;
  peer->info.uid = credentials->uid;
  peer->info.pid = credentials->pid;
  peer->info.connected = true;
  PeerProcess process = peer_process(fd.get());
  peer->info.watched = process.is_watched();
  peer->info.process = process.id;
  peer->session =
      std::make_shared<Session>(io_, peer->id, std::move(fd), std::move(process),
                                SessionOutput::Limits{options_.max_waiting, options_.stall_timeout},
                                weak_from_this(), outbox_);
  peers_.emplace(peer->id, peer);
  take_place(*peer);
  peer->session->start(options_.hello_timeout);
  if (!is_allowed(*peer)) {
    std::string const who = "uid " + std::to_string(credentials->uid);
    refuse(*peer, std::nullopt, ErrorCode::not_allowed,
           who + " may not connect; allow_uids of the supervisor's config lists who may");
    complain_once(credentials->uid);
  }
}

/// Logs a refused uid only once, because a refused client tries again and again.
void Server::Impl::complain_once(uid_t uid) {
  constexpr std::size_t kMost = 64;
  bool const is_known =
      std::find(refused_uids_.begin(), refused_uids_.end(), uid) != refused_uids_.end();
  if (is_known || refused_uids_.size() >= kMost) {
    return;
  }
  refused_uids_.push_back(uid);
  observer_.trouble("refused a connection of uid " + std::to_string(uid) +
                    ", which ipc.allow_uids does not list");
}

bool Server::Impl::is_allowed(Peer const& peer) const {
  auto const& others = options_.allow_uids;
  uid_t const uid = peer.info.uid;
  return (options_.allow_any_uid && !peer.is_admin) || uid == 0 || uid == ::geteuid() ||
         std::find(others.begin(), others.end(), uid) != others.end();
}

void Server::Impl::line(PeerId id, std::string_view line) {
  auto const peer = find(id);
  if (!peer || is_blank(line)) {
    return;
  }
  auto decoded = decode_to_supervisor(line);
  if (auto const* const problem = std::get_if<DecodeError>(&decoded)) {
    if (problem->close || peer->stage != Stage::welcomed) {
      refuse(*peer, problem->seq, problem->code, problem->message);
    } else if (!problem->of_answer) {
      send_error(*peer, problem->seq, problem->code, problem->message);
    }
    return;
  }
  auto& incoming = std::get<Incoming<ToSupervisor>>(decoded);
  auto* const hello = std::get_if<Hello>(&incoming.message);
  if (peer->stage != Stage::welcomed) {
    if (hello == nullptr) {
      refuse(*peer, incoming.seq, ErrorCode::not_allowed, "the first message must be a hello");
    } else {
      greet(*peer, std::move(*hello), incoming.seq);
    }
  } else if (hello != nullptr) {
    send_error(*peer, incoming.seq, ErrorCode::not_allowed,
               "this connection has sent a hello "
               "already");
  } else if (!may_send(peer->info.role, incoming.message)) {
    send_error(*peer, incoming.seq, ErrorCode::not_allowed,
               "role " + std::string(name(peer->info.role)) + " may not send '" +
                   std::string(op_of(incoming.message)) + "'");
  } else {
    observer_.message(id, std::move(incoming.message), incoming.seq);
  }
}

void Server::Impl::greet(Peer& peer, Hello&& hello, Seq seq) {
  if ((hello.role == Role::operator_) != peer.is_admin) {
    return refuse(peer, seq, ErrorCode::not_allowed,
                  peer.is_admin ? "only role operator may use the admin socket"
                                : "role operator may use only the admin socket");
  }
  bool const has_right_of_way = hello.role == Role::shim || hello.role == Role::hook;
  if (peer.is_extra && !has_right_of_way) {
    return refuse(peer, seq, ErrorCode::busy, "too many connections");
  }
  peer.hello_seq = seq;
  peer.info.role = hello.role;
  peer.info.name = hello.name;
  peer.info.sdk = hello.sdk;
  if (hello.live > 0) {
    receive_rest(peer.info.pid, peer.id);
  }
  observer_.hello(peer.id, std::move(hello));
  if (peer.stage == Stage::greeting) {
    refuse(peer, seq, ErrorCode::busy, "the supervisor does not accept this peer now");
  } else if (peer.stage == Stage::welcomed) {
    ack(peer.id, seq, {});
  }
}

void Server::Impl::line_too_long(PeerId id) {
  if (auto const peer = find(id)) {
    refuse(*peer, std::nullopt, ErrorCode::too_long,
           "a line holds at most " + std::to_string(kMaxLine) + " bytes");
  }
}

void Server::Impl::sent_no_hello(PeerId id) {
  if (auto const peer = find(id)) {
    refuse(*peer, std::nullopt, ErrorCode::not_allowed,
           "no hello within " + std::to_string(options_.hello_timeout.count()) + " ms");
  }
}

void Server::Impl::ended(PeerId id, std::string_view why) {
  auto const peer = find(id);
  if (!peer || !std::exchange(peer->info.connected, false)) {
    return;
  }
  give_place_back(*peer);
  if (peer->stage == Stage::welcomed) {
    observer_.disconnected(id, why);
  } else {
    peer->session->unwatch();
    drop(*peer);
  }
}

void Server::Impl::dropped(PeerId, Drop why) {
  observer_.peer_dropped(why);
}

void Server::Impl::process_gone(PeerId id) {
  auto const peer = find(id);
  if (!peer) {
    return;
  }
  // The process may have reconnected just before it died: requests that it announced on the new
  // connection must not be lost.
  engines_.accept_now();
  receive_rest(peer->info.pid, last_id_ + 1);
  peer->process_is_gone = true;
  if (peer->stage == Stage::welcomed) {
    observer_.process_gone(id);
  }
}

/// Reads everything that this process has written on its earlier connections (below `below`), their
/// ends included. The loop may see connections in another order than the process made them, and
/// requests that a new connection announces as resumed are looked up among those that the old ones
/// left. All processes in sibling PID namespaces have pid 0; for them it reads a little more.
void Server::Impl::receive_rest(pid_t pid, PeerId below) {
  std::vector<PeerId> chosen;
  for (auto const& [id, peer] : peers_) {
    if (id < below && !peer->is_admin && peer->info.pid == pid && peer->info.connected) {
      chosen.push_back(id);
    }
  }
  std::sort(chosen.begin(), chosen.end());
  for (PeerId const id : chosen) {
    auto const peer = find(id);
    if (peer && peer->session->is_open()) {
      peer->session->receive_rest();
    }
    if (peer && peer->session->has_peer_closed()) {
      ended(id, "closed by the peer");  // answers to it are still written
    }
  }
}

}  // namespace lastcall::ipc
