#include "ipc/server.hpp"

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "ipc/server_impl.hpp"

namespace lastcall::ipc {

Server::Impl::Impl(boost::asio::io_context& io, ServerOptions options, Observer& observer)
    : io_(io),
      turns_(std::make_shared<Turns>(io, std::make_shared<UnflushedOutputs>(io))),
      options_(std::move(options)),
      observer_(observer),
      listeners_(io, options_,
                 {[this](Descriptor fd, bool is_admin) { accepted(std::move(fd), is_admin); },
                  [this](std::string const& what) { observer_.trouble(what); }}),
      places_(options_),
      uids_(options_),
      sender_(peers_, observer,
              [this](std::string what) {
                boost::asio::post(io_, [weak = weak_from_this(), text = std::move(what)] {
                  if (auto const self = weak.lock()) {
                    self->observer_.trouble(text);
                  }
                });
              }),
      last_words_(std::make_shared<LastWords>(
          peers_, listeners_, turns_,
          LastWords::Handlers{[this](PeerId id) { ended(id, "closed by the peer"); },
                              [this](PeerId id) { greeter_.process_gone(id); }})),
      greeter_(peers_, *last_words_, sender_, observer) {}

void Server::Impl::close_all() {
  listeners_.close();
  peers_.each_session([](Session& session) { session.close("closed by the supervisor"); });
}

void Server::Impl::abort_all() {
  listeners_.close();
  peers_.each_session([](Session& session) {
    session.abort("the server ends");
    session.unwatch();
  });
  turns_->unflushed()->clear();
  turns_->clear();
}

void Server::Impl::forget(PeerId id) {
  if (auto const peer = peers_.find(id)) {
    peer->session->close("forgotten by the supervisor");
    peer->session->unwatch();
    drop(*peer);
  }
}

void Server::Impl::drop(Peer const& peer) {
  if (peer.info.connected) {
    places_.give_back(peer.is_admin, peer.info.pid, peer.is_extra);
  }
  peers_.erase(peer.id);
}

bool Server::Impl::make_cancels(PeerId id, std::size_t room, std::string& out) {
  auto const peer = peers_.find(id);
  return peer && peer->cancels.write(room, out, [this, id](CancelBatch& batch) {
    return observer_.next_cancels(id, batch);
  });
}

Server::Server(boost::asio::io_context& io, ServerOptions options, Observer& observer)
    : impl_(std::make_shared<Impl>(io, std::move(options), observer)) {}
Server::~Server() {
  impl_->abort_all();
}

std::optional<std::string> Server::listen() {
  return impl_->listeners().open();
}
void Server::follow_sockets() {
  impl_->listeners().follow();
}
void Server::welcome(PeerId peer, Welcome const& welcome) {
  impl_->greeter().welcome(peer, welcome);
}
void Server::refuse(PeerId peer, ErrorCode code, std::string_view message) {
  impl_->sender().refuse(peer, code, message);
}
void Server::send(PeerId peer, FromSupervisor const& message) {
  impl_->sender().send(peer, message);
}
void Server::ack(PeerId peer, Seq seq, std::string_view result) {
  impl_->sender().ack(peer, seq, result);
}
void Server::error(PeerId peer, Seq seq, ErrorCode code, std::string_view message) {
  impl_->sender().error(peer, seq, code, message);
}
void Server::cancels_ready(PeerId peer) {
  impl_->sender().cancels_ready(peer);
}
void Server::flush() {
  impl_->flush();
}
void Server::close(PeerId peer) {
  impl_->sender().close(peer);
}
void Server::close_all() {
  impl_->close_all();
}
bool Server::is_flushed() const {
  return !impl_->peers().have_output();
}
void Server::forget(PeerId peer) {
  impl_->forget(peer);
}
Descriptor Server::take_passed(PeerId peer) {
  auto const found = impl_->peers().find(peer);
  return found ? found->session->take_passed() : Descriptor();
}
PeerInfo const* Server::info(PeerId peer) const {
  return impl_->peers().info(peer);
}

}  // namespace lastcall::ipc
