// How a connection makes room for others: what it holds, and how it is closed for their sake.
#include <utility>

#include "ingress/client.hpp"
#include "ingress/proxy.hpp"

namespace lastcall::ingress {
namespace {

/// Of a connection in plain text: this object, its place in tables, its timer; of one with TLS, the
/// library's state of a session, measured.
constexpr std::size_t kPlain = sizeof(Client) + 256;
constexpr std::size_t kTls = std::size_t{24} * 1024;

}  // namespace

void Client::weigh() {
  if (dead_) {
    return;
  }
  charge_.set((tls_ ? kTls : 0) + kPlain + in_.capacity() + out_.capacity());
  if (exchange_) {
    exchange_->weigh();
  }
  proxy_.weighed();
}

/// A whole request that waits for its place or for the engine is not its client's fault.
std::size_t Client::dead_weight() const {
  std::size_t const unfinished =
      exchange_ && !exchange_->request_done ? exchange_->to_engine.size() : 0;
  return in_.size() + out_.size() + unfinished;
}

/// What has come on it meanwhile is read first: an idle connection may have a request by now.
bool Client::give_way() {
  readable_ = true;
  pump();
  if (dead_) {
    return true;
  }
  if (exchange_ || (!lingering_ && !out_.empty())) {
    weigh();
    return false;
  }
  close();
  return true;
}

void Client::shed() {
  if (exchange_ && !exchange_->head_sent && out_.empty()) {
    break_off(relay::no_memory(), lifecycle::Outcome::error);
  } else if (exchange_ && socket_) {
    // Its client is slow to read: only a reset says that this is not the end, and takes back what
    // the kernel holds for it, too.
    drop_upstream();
    exchange_->outcome = lifecycle::Outcome::error;
    exchange_->is_cut = true;
    proxy_.poller().remove(socket_.get());
    socket_.abort();
    end_ = End::close;
    out_.clear();
    end_exchange();
  }
  if (!dead_) {
    close();
  }
}

}  // namespace lastcall::ingress
