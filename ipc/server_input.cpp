// The input from the sockets (connections, lines, ends), which is checked before the observer
// receives it.
#include <utility>

#include <sys/socket.h>

#include "ipc/codec.hpp"
#include "ipc/server_impl.hpp"
#include "ipc/unix_socket.hpp"

namespace lastcall::ipc {
namespace {

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

void Server::Impl::accepted(Descriptor fd, bool is_admin) {
  auto const credentials = peer_credentials(fd.get());
  if (!credentials) {
    return;  // the peer has gone already
  }
  if (std::string_view const why = places_.why_none(is_admin, credentials->pid); !why.empty()) {
    observer_.error_sent(ErrorCode::busy);
    std::string const line = error_line(std::nullopt, ErrorCode::busy, why);
    (void)::send(fd.get(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    return;
  }
  auto peer = std::make_shared<Peer>();
  peer->id = peers_.new_id();
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
                                weak_from_this(), turns_);
  if (is_admin) {
    peer->session->input().give_right_of_way();
  }
  peers_.add(peer);
  take_place(*peer);
  peer->session->start(options_.hello_timeout);
  if (!uids_.is_allowed(credentials->uid, is_admin)) {
    std::string const who = "uid " + std::to_string(credentials->uid);
    sender_.refuse(*peer, std::nullopt, ErrorCode::not_allowed,
                   who + " may not connect; allow_uids of the supervisor's config lists who may");
    if (uids_.is_new_refusal(credentials->uid)) {
      observer_.trouble("refused a connection of " + who + ", which ipc.allow_uids does not list");
    }
  }
}

/// A shim still gets in when every place is taken, because the oldest extra peer leaves.
void Server::Impl::take_place(Peer& peer) {
  peer.is_extra = places_.take(peer.id, peer.is_admin, peer.info.pid);
  if (!peer.is_extra) {
    return;
  }
  auto const leaving = places_.surplus([this](PeerId id) {
    auto const other = peers_.find(id);
    return other && other->stage == Stage::greeting && other->session->is_open();
  });
  if (leaving) {
    auto const oldest = peers_.find(*leaving);
    oldest->stage = Stage::refused;
    observer_.error_sent(ErrorCode::busy);
    oldest->session->dismiss(error_line(std::nullopt, ErrorCode::busy, "too many connections"));
  }
}

void Server::Impl::line(PeerId id, std::string_view line) {
  auto const peer = peers_.find(id);
  if (!peer || is_blank(line)) {
    return;
  }
  auto decoded = decode_to_supervisor(line);
  if (auto const* const problem = std::get_if<DecodeError>(&decoded)) {
    if (problem->close || peer->stage != Stage::welcomed) {
      sender_.refuse(*peer, problem->seq, problem->code, problem->message);
    } else if (!problem->of_answer) {
      sender_.error(*peer, problem->seq, problem->code, problem->message);
    }
    return;
  }
  auto& incoming = std::get<Incoming<ToSupervisor>>(decoded);
  auto* const hello = std::get_if<Hello>(&incoming.message);
  if (peer->stage != Stage::welcomed) {
    if (hello == nullptr) {
      sender_.refuse(*peer, incoming.seq, ErrorCode::not_allowed,
                     "the first message must be a hello");
    } else {
      greeter_.greet(*peer, std::move(*hello), incoming.seq);
    }
  } else if (hello != nullptr) {
    sender_.error(*peer, incoming.seq, ErrorCode::not_allowed,
                  "this connection has sent a hello already");
  } else if (!may_send(peer->info.role, incoming.message)) {
    sender_.error(*peer, incoming.seq, ErrorCode::not_allowed,
                  "role " + std::string(name(peer->info.role)) + " may not send '" +
                      std::string(op_of(incoming.message)) + "'");
  } else {
    observer_.message(id, std::move(incoming.message), incoming.seq);
  }
}

void Server::Impl::line_too_long(PeerId id) {
  if (auto const peer = peers_.find(id)) {
    sender_.refuse(*peer, std::nullopt, ErrorCode::too_long,
                   "a line holds at most " + std::to_string(kMaxLine) + " bytes");
  }
}

void Server::Impl::sent_no_hello(PeerId id) {
  if (auto const peer = peers_.find(id)) {
    sender_.refuse(*peer, std::nullopt, ErrorCode::not_allowed,
                   "no hello within " + std::to_string(options_.hello_timeout.count()) + " ms");
  }
}

void Server::Impl::ended(PeerId id, std::string_view why) {
  auto const peer = peers_.find(id);
  if (!peer || !std::exchange(peer->info.connected, false)) {
    return;
  }
  places_.give_back(peer->is_admin, peer->info.pid, peer->is_extra);
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

void Server::Impl::process_ended(PeerId id) {
  if (auto const peer = peers_.find(id)) {
    last_words_->process_ended(*peer);
  }
}

}  // namespace lastcall::ipc
