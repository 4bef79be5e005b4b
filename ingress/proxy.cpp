#include "ingress/proxy.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <fcntl.h>

#include "ingress/client.hpp"
#include "ingress/upstream.hpp"

namespace lastcall::ingress {
namespace {

constexpr std::size_t kScratch = 64 * 1024;
constexpr std::size_t kMaxPool = 1024;
constexpr int kAcceptsATurn = 64;
/// Of 2^32: its multiples are spread evenly, however many of them there are.
constexpr std::uint32_t kGoldenRatio = 2'654'435'769;
/// Clients above the limit that are waited for at a time, until they have read that they are.
constexpr std::size_t kMostRefused = 64;

}  // namespace

class Proxy::Acceptor final : public Watched {
 public:
  Acceptor(Proxy& proxy, int descriptor) : listener(descriptor), proxy_(proxy) { open_spare(); }
  void ready(std::uint32_t) override {
    if (listener) {
      proxy_.accept();
    }
  }
  void open_spare() { spare = Socket(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

  Socket listener;
  Socket spare;  // to refuse with when no descriptor is left

 private:
  Proxy& proxy_;
};

Proxy::Proxy(boost::asio::io_context& io, Options options, Tracker& tracker)
    : options_(std::move(options)),
      tracker_(tracker),
      poller_(io),
      deadlines_(io, options_.waits),
      scratch_(kScratch) {}

Proxy::~Proxy() = default;

void Proxy::listen(int descriptor) {
  acceptor_ = std::make_unique<Acceptor>(*this, descriptor);
  poller_.add(descriptor, *acceptor_);
}

void Proxy::stop_listening() {
  if (acceptor_) {
    acceptor_->listener.close();
    poller_.bury(std::move(acceptor_));
  }
}

void Proxy::close_over(std::chrono::milliseconds over) {
  std::chrono::milliseconds const now = monotonic_now();
  if (!closing_) {
    closing_ = Closing{now, over};
  } else {
    closing_->over = std::min(closing_->over, now - closing_->since + over);
  }
}

void Proxy::keep_alive_again() {
  closing_.reset();
}

bool Proxy::is_closing(std::uint32_t place) const {
  constexpr unsigned kPlaceBits = 32;
  if (!closing_) {
    return false;
  }
  auto const over = static_cast<std::uint64_t>(closing_->over.count());
  std::chrono::milliseconds const turn((over * place) >> kPlaceBits);
  return monotonic_now() - closing_->since >= turn;
}

void Proxy::close_idle() {
  std::vector<Client*> idle;
  for (auto const& [client, owner] : clients_) {
    if (client->is_idle()) {
      idle.push_back(client);
    }
  }
  for (Client* const client : idle) {
    client->close();
  }
}

// --- clients -------------------------------------------------------------------------------------

void Proxy::accept() {
  if (!acceptor_->spare) {
    acceptor_->open_spare();
  }
  for (int i = 0; i < kAcceptsATurn; ++i) {
    Socket socket;
    std::string address;
    switch (accept_one(acceptor_->listener, socket, address)) {
      case Accept::none:
        tell_connections();
        return;
      case Accept::no_room:
        if (!refuse_with_spare()) {
          is_crowded_ = true;
          tell_connections();
          return;
        }
        continue;
      case Accept::accepted:
        break;
    }
    std::size_t const most = options_.max_connections;
    if (clients_.size() >= most + kMostRefused) {
      refuse_at_once(std::move(socket));
      continue;
    }
    int const descriptor = socket.get();
    std::unique_ptr<TlsSession> session = tls_ ? tls_->accept(socket) : nullptr;
    if (tls_ && !session) {
      tracker_.refused(too_many_connections());
      continue;
    }
    next_place_ += kGoldenRatio;
    auto owner = std::make_unique<Client>(*this, std::move(socket), std::move(session),
                                          std::move(address), next_place_);
    Client& client = *owner;
    bool const is_watched = poller_.add(descriptor, client);
    clients_.emplace(&client, std::move(owner));
    if (!is_watched) {
      client.close();
    } else if (clients_.size() > most) {
      client.refuse_connection();
    }
  }
  tell_connections();
  poller_.again(*acceptor_);
}

/// False when not even the spare descriptor is to be had.
bool Proxy::refuse_with_spare() {
  Socket socket;
  std::string address;
  acceptor_->spare.close();
  bool const is_accepted = accept_one(acceptor_->listener, socket, address) == Accept::accepted;
  if (is_accepted) {
    refuse_at_once(std::move(socket));
  }
  acceptor_->open_spare();
  return is_accepted;
}

/// Without waiting until the client has read: what it has sent is taken, so that the close resets
/// nothing. Under TLS there is only the close, because words would take a handshake.
void Proxy::refuse_at_once(Socket socket) {
  if (!tls_) {
    std::string response;
    append_refusal(response, too_many_connections(), {}, true, false);
    write_some(socket, response);
    end_output(socket);
    read_some(socket, scratch());
  }
  tracker_.refused(too_many_connections());
}

void Proxy::ended(Client& client) {
  if (std::exchange(is_crowded_, false) && acceptor_) {
    poller_.again(*acceptor_);
  }
  auto const found = clients_.find(&client);
  poller_.bury(std::move(found->second));
  clients_.erase(found);
  tell_connections();
}

std::string Proxy::unique_id(std::string_view wanted) {
  if (!is_usable_id(wanted)) {
    return ids_.make();
  }
  std::string id(wanted);
  for (unsigned n = 2; by_id_.contains(id) || left_.contains(id); ++n) {
    id = std::string(wanted) + "-" + std::to_string(n);
  }
  return id;
}

EndpointName Proxy::endpoint(std::string_view method, std::string_view target, bool upgrade) const {
  EndpointName found = endpoint_of(method, target, upgrade);
  std::string_view const path = path_of(target);
  for (NamedEndpoint const& named : options_.endpoints) {
    if (named.name == path) {
      found.name = named.name;
      found.counts = true;
      return found;
    }
  }
  return found;
}

bool Proxy::defers_cancel(std::string_view endpoint) const {
  return std::any_of(
      options_.endpoints.begin(), options_.endpoints.end(),
      [&](NamedEndpoint const& named) { return named.defers_cancel && named.name == endpoint; });
}

std::uint64_t Proxy::serial_of(std::string_view id) const {
  auto const found = by_id_.find(id);
  return found == by_id_.end() ? 0 : found->second->serial();
}

Client* Proxy::find(Request const& request) const {
  auto const found = by_id_.find(request.id);
  bool const is_it = found != by_id_.end() && found->second->serial() == request.serial;
  return is_it ? found->second : nullptr;
}

void Proxy::admitted(Request const& request) {
  if (Client* const client = find(request)) {
    client->admitted();
  }
}

void Proxy::rejected(Request const& request, Refusal const& refusal) {
  if (Client* const client = find(request)) {
    client->rejected(refusal);
  }
}

void Proxy::cut(Request const& request, Refusal const& refusal, bool at_once) {
  if (Client* const client = find(request)) {
    client->cut(refusal, at_once);
  }
}

bool Proxy::is_flushed() const {
  return std::all_of(clients_.begin(), clients_.end(),
                     [](auto const& entry) { return entry.first->is_flushed(); });
}

// --- the engine ----------------------------------------------------------------------------------

Upstream* Proxy::acquire(bool fresh) {
  while (!fresh && !pool_.empty()) {
    Upstream* const warm = pool_.back();  // the one used last: the others may age and go
    pool_.pop_back();
    if (is_quiet(warm->socket_)) {
      warm->deadline_.disarm();
      return warm;
    }
    warm->close();
  }
  bool connected = false;
  Socket socket = begin_connect(options_.upstream, connected);
  if (!socket) {
    return nullptr;
  }
  int const descriptor = socket.get();
  auto owner = std::make_unique<Upstream>(*this, std::move(socket), connected);
  if (!poller_.add(descriptor, *owner)) {
    return nullptr;
  }
  Upstream* const made = owner.get();
  upstreams_.emplace(made, std::move(owner));
  tell_connections();
  return made;
}

void Proxy::pool(Upstream& upstream) {
  if (pool_.size() >= kMaxPool) {
    upstream.close();
  } else {
    pool_.push_back(&upstream);
  }
}

void Proxy::closed(Upstream& upstream) {
  std::erase(pool_, &upstream);
  auto const found = upstreams_.find(&upstream);
  poller_.bury(std::move(found->second));
  upstreams_.erase(found);
  tell_connections();
}

void Proxy::tell_connections() {
  tracker_.connections(clients_.size(), upstreams_.size());
}

}  // namespace lastcall::ingress
