// Closes connections to make room for others: for newcomers if connections are scarce, and for all
// if memory is.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "ingress/clients.hpp"

namespace lastcall::ingress {
namespace {

/// The number of idle connections that are tried for one newcomer: each may have a request by now.
constexpr int kMostLooks = 16;
/// The heaviest client of a sample of this size is heavy enough; a search of all clients would take
/// longer the more there are.
constexpr std::size_t kSample = 32;
/// Connections that are closed in one turn.
constexpr int kMostShed = 64;
/// A client that holds fewer bytes does not matter.
constexpr std::size_t kLight = 1024;

}  // namespace

/// Connections are closed in a turn of its own, because the caller that notices that memory is
/// scarce is busy with one of them.
class Clients::Shedder final : public Watched {
 public:
  explicit Shedder(Clients& owner) : owner_(owner) {}
  void ready(std::uint32_t) override { owner_.shed(); }
  std::string_view kind() const override { return "ingress_memory"; }

 private:
  Clients& owner_;
};

std::unique_ptr<Watched> Clients::make_shedder() {
  return std::make_unique<Shedder>(*this);
}

Clients::~Clients() = default;

bool Clients::evict_idle(Client& newcomer, Scarce what) {
  for (int i = 0; i < kMostLooks; ++i) {
    std::optional<Deadlines::Waiting> longest;
    // A client that lingers has already been sent its last byte, and holds no memory.
    for (Wait const wait : {Wait::linger, Wait::request, Wait::keep_alive}) {
      std::optional<Deadlines::Waiting> const next = parts_.deadlines.longest(wait);
      bool const holds_it = what != Scarce::memory || wait != Wait::linger;
      bool const is_another = holds_it && next && next->owner != &newcomer;
      if (is_another && (!longest || next->since < longest->since)) {
        longest = next;
      }
    }
    if (!longest) {
      return false;
    }
    if (static_cast<Client*>(longest->owner)->give_way()) {
      parts_.observer.evicted(what);
      return true;
    }
  }
  return false;
}

void Clients::shed_soon() {
  if (!std::exchange(shed_is_due_, true)) {
    parts_.poller.again(*shedder_);
  }
}

void Clients::shed() {
  shed_is_due_ = false;
  for (int i = 0; i < kMostShed && !parts_.memory.is_relieved(); ++i) {
    Client* const client = heaviest();
    if (client == nullptr) {
      return;
    }
    parts_.observer.evicted(Scarce::memory);
    client->shed();
  }
  if (parts_.memory.is_exceeded()) {
    shed_soon();
  }
}

Client* Clients::heaviest() {
  Client* found = nullptr;
  std::size_t most = kLight;
  for (std::size_t i = 0; i < std::min(clients_.size(), kSample); ++i) {
    Client& client = clients_[looked_at_++ % clients_.size()];
    if (std::size_t const weight = client.dead_weight(); weight > most) {
      most = weight;
      found = &client;
    }
  }
  return found;
}

}  // namespace lastcall::ingress
