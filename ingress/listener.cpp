#include "ingress/listener.hpp"

#include <array>
#include <utility>

#include <fcntl.h>

namespace lastcall::ingress {
namespace {

/// This is small, because the clients that are already here wait for the end of the turn.
constexpr int kAcceptsATurn = 16;
/// Turns in which a listener that closes accepts from its queue; more than its backlog needs.
constexpr int kLastTurns = 512;
/// A fraction of 2^32: its multiples are spread evenly, however many of them there are.
constexpr std::uint32_t kGoldenRatio = 2'654'435'769;
/// How many clients may be above the limit at a time: they wait until another one gives way on its
/// thread, or are closed once they have read that there are too many.
constexpr std::size_t kMostAbove = 256;

}  // namespace

class Listener::Door final : public Watched {
 public:
  Door(Listener& owner, int descriptor) : listening(descriptor), owner_(owner) { open_spare(); }
  void ready(std::uint32_t) override {
    if (listening) {
      owner_.accept();
    }
  }
  std::string_view kind() const override { return "ingress_listener"; }
  void open_spare() { spare = Socket(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

  Socket listening;
  Socket spare;  // a spare descriptor, to refuse a client with when no other is left

 private:
  Listener& owner_;
};

Listener::Listener(boost::asio::io_context& io, Limits const& limits, Listeners listeners)
    : poller_(io, listeners.slow),
      most_(limits.connections),
      of_address_(limits.of_address),
      listeners_(std::move(listeners)) {}

Listener::~Listener() = default;

void Listener::open(int descriptor) {
  prepare_for_clients(descriptor);
  door_ = std::make_unique<Door>(*this, descriptor);
  poller_.add(descriptor, *door_);
}

void Listener::take_no_newcomers() {
  if (door_) {
    ingress::take_no_newcomers(door_->listening.get());
  }
}

void Listener::close() {
  if (door_) {
    for (int turn = 0; turn < kLastTurns && accept_some(); ++turn) {
    }
    door_->listening.close();
    poller_.bury(std::move(door_));
  }
}

void Listener::accept() {
  if (accept_some()) {
    poller_.again(*door_);
  }
}

/// Returns true if there may be more.
bool Listener::accept_some() {
  if (!door_->spare) {
    door_->open_spare();
  }
  for (int i = 0; i < kAcceptsATurn; ++i) {
    Accepted accepted;
    switch (accept_one(door_->listening, accepted.socket, accepted.address)) {
      case Accept::none:
        return false;
      case Accept::no_room:
        if (!refuse_with_spare()) {
          is_crowded_ = true;
          return false;
        }
        continue;
      case Accept::accepted:
        break;
    }
    if (clients_ >= most_ + kMostAbove) {
      refuse_at_once(std::move(accepted.socket), relay::too_many_connections(),
                     Scarce::connections);
      continue;
    }
    std::optional<AddressLimit::Place> of_address = of_address_.take(accepted.address);
    if (!of_address) {
      refuse_at_once(std::move(accepted.socket), relay::too_many_of_address(), Scarce::address);
      continue;
    }
    accepted.of_address = std::move(*of_address);
    accepted.tls = tls_ ? tls_->accept(accepted.socket) : nullptr;
    if (tls_ && !accepted.tls) {
      listeners_.refused(relay::too_many_connections());
      continue;
    }
    next_place_ += kGoldenRatio;
    accepted.place = next_place_;
    accepted.is_too_many = clients_ >= most_;
    ++clients_;
    listeners_.take(std::move(accepted));
  }
  return true;
}

/// Returns false if even the spare descriptor cannot be used.
bool Listener::refuse_with_spare() {
  Socket socket;
  std::string address;
  door_->spare.close();
  bool const is_accepted = accept_one(door_->listening, socket, address) == Accept::accepted;
  if (is_accepted) {
    refuse_at_once(std::move(socket), relay::too_many_connections(), Scarce::connections);
  }
  door_->open_spare();
  return is_accepted;
}

/// Refuses without waiting until the client has read the answer. The bytes that it has sent are
/// read, so that the close does not reset the connection. With TLS there is no answer, because that
/// would need a handshake.
void Listener::refuse_at_once(Socket socket, relay::Refusal const& refusal, Scarce what) {
  if (!tls_) {
    std::string response;
    relay::append_refusal(response, refusal, {}, true, false);
    write_some(socket, response);
    end_output(socket);
    std::array<char, 64 * 1024> unread;
    read_some(socket, unread);
  }
  listeners_.refused(refusal);
  listeners_.shed(what);
}

void Listener::client_left() {
  --clients_;
  if (std::exchange(is_crowded_, false) && door_) {
    poller_.again(*door_);
  }
}

}  // namespace lastcall::ingress
