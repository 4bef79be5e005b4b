#include "ingress/engine_pool.hpp"

#include <utility>

#include "ingress/client_parts.hpp"
#include "ingress/upstream.hpp"

namespace lastcall::ingress {
namespace {

constexpr std::size_t kMostKept = 1024;

}  // namespace

EnginePool::EnginePool(ClientParts& parts, std::vector<Endpoint> const& addresses, EngineTls tls)
    : parts_(parts), addresses_(addresses), tls_(std::move(tls)) {}

EnginePool::~EnginePool() = default;

Upstream* EnginePool::acquire(bool fresh) {
  while (!fresh && !kept_.empty()) {
    Upstream* const warm = kept_.back();
    kept_.pop_back();
    if (warm->is_usable()) {
      return warm;
    }
    warm->close();
  }
  if (addresses_.empty() && !awaits_addresses_) {
    return nullptr;
  }
  make_room();
  auto owner = std::make_unique<Upstream>(parts_, *this, address_);
  if (!owner->connect()) {
    avoid_address(address_);
    return nullptr;
  }
  Upstream* const made = owner.get();
  all_.add(std::move(owner));
  if (addresses_.empty()) {
    waiting_.push_back(made);
  }
  parts_.counts.upstream_opened();
  return made;
}

void EnginePool::make_room() {
  bool const is_full = parts_.counts.upstream() >= parts_.options.max_connections;
  if (auto const idle = is_full ? parts_.deadlines.longest(Wait::upstream_idle) : std::nullopt) {
    idle->owner->expired(Wait::upstream_idle);
  }
}

void EnginePool::avoid_address(std::size_t address) {
  // If the address is another one, another request has found that out already.
  if (address == address_ && !addresses_.empty()) {
    address_ = (address_ + 1) % addresses_.size();
  }
}

void EnginePool::keep(Upstream& upstream) {
  if (kept_.size() >= kMostKept) {
    upstream.close();
  } else {
    kept_.push_back(&upstream);
  }
}

void EnginePool::close_kept() {
  while (!kept_.empty()) {
    kept_.back()->close();  // this removes it from `kept_`
  }
}

void EnginePool::addresses_came() {
  awaits_addresses_ = false;
  address_ = 0;
  close_kept();
  // A connection that fails may end others, too, and its successor may have to wait again.
  for (std::size_t left = waiting_.size(); left > 0 && !waiting_.empty(); --left) {
    Upstream* const upstream = waiting_.front();
    waiting_.erase(waiting_.begin());
    upstream->address_came(address_);
  }
}

void EnginePool::closed(Upstream& upstream) {
  std::erase(kept_, &upstream);
  std::erase(waiting_, &upstream);
  parts_.poller.bury(all_.take_out(upstream));
  parts_.counts.upstream_closed();
}

}  // namespace lastcall::ingress
