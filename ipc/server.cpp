#include "ipc/server.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "base/utf8.hpp"
#include "ipc/codec.hpp"
#include "ipc/server_impl.hpp"

namespace lastcall::ipc {

std::string error_line(Seq seq, ErrorCode code, std::string_view message) {
  constexpr std::size_t kMost = 1024;
  std::string line;
  (void)encode(FromSupervisor(Error{seq, code, std::string(utf8::prefix(message, kMost))}),
               std::nullopt, line);
  return line;
}

Server::Impl::Impl(boost::asio::io_context& io, ServerOptions options, Observer& observer)
    : io_(io),
      outbox_(std::make_shared<Outbox>(io)),
      options_(std::move(options)),
      observer_(observer),
      engines_(io, handlers(false)),
      admins_(io, handlers(true)) {}

std::optional<std::string> Server::Impl::listen() {
  if (auto problem = make_directories(options_.engine_socket, options_.admin_socket)) {
    return problem;
  }
  // The lock is never next to the engine's socket, because others share that directory.
  std::variant<Descriptor, std::string> lock;
  if (!options_.admin_socket.empty()) {
    lock = lock_beside(options_.admin_socket);
    if (auto* const problem = std::get_if<std::string>(&lock)) {
      return std::move(*problem);
    }
  }
  // The process that has the admin socket is the supervisor here: a file at the name of the
  // engine's socket was then put there by an engine, and must not keep us from starting.
  Squatters squatters = Squatters::refused;
  if (!options_.admin_socket.empty()) {
    if (auto problem = admins_.open(options_.admin_socket, options_.mode, Squatters::refused)) {
      return problem;
    }
    squatters = Squatters::cleared;
  }
  auto problem = engines_.open(options_.engine_socket, options_.mode, squatters);
  if (problem) {
    admins_.close();
  }
  return problem;
}

void Server::Impl::follow_sockets() {
  for (Listener* const each : {&engines_, &admins_}) {
    if (std::string const done = each->follow(); !done.empty()) {
      observer_.trouble(done);
    }
  }
}

void Server::Impl::welcome(PeerId id, Welcome const& welcome) {
  auto const peer = find(id);
  if (!peer || peer->stage != Stage::greeting) {
    return;
  }
  peer->stage = Stage::welcomed;
  peer->session->greeted(peer->info.role == Role::shim);
  send(*peer, welcome, std::nullopt);
  if (peer->process_is_gone) {
    boost::asio::post(io_, [weak = weak_from_this(), id] {
      if (auto const self = weak.lock()) {
        self->process_gone(id);
      }
    });
  }
}

void Server::Impl::refuse(PeerId id, ErrorCode code, std::string_view message) {
  if (auto const peer = find(id)) {
    refuse(*peer, peer->stage == Stage::greeting ? peer->hello_seq : std::nullopt, code, message);
  }
}

void Server::Impl::send(PeerId id, FromSupervisor const& message) {
  if (auto const peer = find_open(id)) {
    send(*peer, message, std::nullopt);
  }
}

std::uint64_t Server::Impl::send_acked(PeerId id, FromSupervisor const& message) {
  auto const peer = find_open(id);
  if (!peer) {
    return 0;
  }
  std::uint64_t const seq = peer->next_seq++;
  send(*peer, message, seq);
  return seq;
}

void Server::Impl::ack(PeerId id, Seq seq, std::string_view result) {
  auto const peer = find_open(id);
  if (!peer || !seq) {
    return;
  }
  if (encode(FromSupervisor(Ack{*seq, std::string(result)}), std::nullopt,
             peer->session->output().waiting())) {
    peer->session->output().queued();
  } else {
    send_error(*peer, seq, ErrorCode::too_long, "the answer does not fit into a line");
  }
}

void Server::Impl::error(PeerId id, Seq seq, ErrorCode code, std::string_view message) {
  if (auto const peer = find_open(id)) {
    send_error(*peer, seq, code, message);
  }
}

void Server::Impl::cancels_ready(PeerId id) {
  if (auto const peer = find_open(id)) {
    peer->session->output().cancels_ready();
  }
}

void Server::Impl::close(PeerId id) {
  if (auto const peer = find_open(id)) {
    peer->session->close("closed by the supervisor");
  }
}

void Server::Impl::close_all() {
  engines_.close();
  admins_.close();
  for (auto const& [id, peer] : peers_) {
    peer->session->close("closed by the supervisor");
  }
}

void Server::Impl::abort_all() {
  engines_.close();
  admins_.close();
  for (auto const& [id, peer] : peers_) {
    peer->session->abort("the server ends");
    peer->session->unwatch();
  }
}

bool Server::Impl::is_flushed() const {
  return std::none_of(peers_.begin(), peers_.end(),
                      [](auto const& entry) { return entry.second->session->output().has_any(); });
}

void Server::Impl::forget(PeerId id) {
  if (auto const peer = find(id)) {
    peer->session->close("forgotten by the supervisor");
    peer->session->unwatch();
    drop(*peer);
  }
}

Descriptor Server::Impl::take_passed(PeerId id) {
  auto const peer = find(id);
  return peer ? peer->session->take_passed() : Descriptor();
}

PeerInfo const* Server::Impl::info(PeerId id) const {
  auto const peer = find(id);
  return peer && peer->stage == Stage::welcomed ? &peer->info : nullptr;
}

std::shared_ptr<Peer> Server::Impl::find(PeerId id) const {
  auto const found = peers_.find(id);
  return found == peers_.end() ? nullptr : found->second;
}

std::shared_ptr<Peer> Server::Impl::find_open(PeerId id) const {
  auto peer = find(id);
  return peer && peer->session->is_open() && peer->stage == Stage::welcomed ? peer : nullptr;
}

void Server::Impl::drop(Peer const& peer) {
  if (peer.info.connected) {
    give_place_back(peer);
  }
  peers_.erase(peer.id);
}

void Server::Impl::send(Peer& peer, FromSupervisor const& message, Seq seq) {
  if (encode(message, seq, peer.session->output().waiting())) {
    peer.session->output().queued();
    return;
  }
  std::string what = "cannot send '" + std::string(op_of(message)) + "' to " + peer.info.name +
                     ": a field exceeds the protocol's limits";
  boost::asio::post(io_, [weak = weak_from_this(), text = std::move(what)] {
    if (auto const self = weak.lock()) {
      self->observer_.trouble(text);
    }
  });
}

void Server::Impl::send_error(Peer& peer, Seq seq, ErrorCode code, std::string_view message) {
  observer_.error_sent(code);
  peer.session->output().waiting() += error_line(seq, code, message);
  peer.session->output().queued();
}

void Server::Impl::refuse(Peer& peer, Seq seq, ErrorCode code, std::string_view message) {
  if (!peer.session->is_open()) {
    return;
  }
  if (peer.stage == Stage::greeting) {
    peer.stage = Stage::refused;
  }
  if (code != ErrorCode::busy) {  // `busy` asks the peer to try again
    observer_.peer_dropped(code == ErrorCode::not_allowed ? Drop::not_allowed : Drop::protocol);
  }
  send_error(peer, seq, code, message);
  peer.session->close(message);
}

bool Server::Impl::make_cancels(PeerId id, std::size_t room, std::string& out) {
  auto const peer = find(id);
  if (!peer) {
    return false;
  }
  std::size_t const start = out.size();
  while (out.size() - start < room) {
    if (peer->batch_next == peer->batch.ids.size()) {
      peer->batch.ids.clear();
      peer->batch_next = 0;
      if (observer_.next_cancels(id, peer->batch) == 0) {
        return false;
      }
    }
    peer->batch_next = encode_cancels(peer->batch, peer->batch_next, out);
  }
  return true;
}

Server::Server(boost::asio::io_context& io, ServerOptions options, Observer& observer)
    : impl_(std::make_shared<Impl>(io, std::move(options), observer)) {}
Server::~Server() {
  impl_->abort_all();
  impl_->forget_output();
}

std::optional<std::string> Server::listen() {
  return impl_->listen();
}
void Server::follow_sockets() {
  impl_->follow_sockets();
}
void Server::welcome(PeerId peer, Welcome const& welcome) {
  impl_->welcome(peer, welcome);
}
void Server::refuse(PeerId peer, ErrorCode code, std::string_view message) {
  impl_->refuse(peer, code, message);
}
void Server::send(PeerId peer, FromSupervisor const& message) {
  impl_->send(peer, message);
}
std::uint64_t Server::send_acked(PeerId peer, FromSupervisor const& message) {
  return impl_->send_acked(peer, message);
}
void Server::ack(PeerId peer, Seq seq, std::string_view result) {
  impl_->ack(peer, seq, result);
}
void Server::error(PeerId peer, Seq seq, ErrorCode code, std::string_view message) {
  impl_->error(peer, seq, code, message);
}
void Server::cancels_ready(PeerId peer) {
  impl_->cancels_ready(peer);
}
void Server::flush() {
  impl_->flush();
}
void Server::close(PeerId peer) {
  impl_->close(peer);
}
void Server::close_all() {
  impl_->close_all();
}
bool Server::is_flushed() const {
  return impl_->is_flushed();
}
void Server::forget(PeerId peer) {
  impl_->forget(peer);
}
Descriptor Server::take_passed(PeerId peer) {
  return impl_->take_passed(peer);
}
PeerInfo const* Server::info(PeerId peer) const {
  return impl_->info(peer);
}

}  // namespace lastcall::ipc
