#include "ingress/live_requests.hpp"

#include <utility>
#include <vector>

#include "ingress/relayed_request.hpp"

namespace lastcall::ingress {

LiveRequests::LiveRequests(SharedIds* shared, std::uint64_t first_serial)
    : shared_(shared), last_serial_(first_serial) {}

LiveRequests::~LiveRequests() = default;

std::string_view LiveRequests::ById::id(RelayedRequest const* request) {
  return request->counted().id();
}

std::string LiveRequests::unique_id(std::string_view wanted, bool keep) {
  bool const is_usable = is_usable_id(wanted);
  if (shared_ != nullptr) {
    return shared_->claim(is_usable ? wanted : ids_.make(), keep);
  }
  if (!is_usable) {
    return ids_.make();
  }
  return id_apart(wanted, ids_, [this](std::string_view id) { return by_id_.contains(id); });
}

void LiveRequests::leave(std::string_view id) {
  if (auto const found = by_id_.find(id); found != by_id_.end()) {
    by_id_.erase(found);
  }
  if (shared_ != nullptr) {
    shared_->release(id);
  }
}

RelayedRequest* LiveRequests::find(Request const& request) const {
  auto const found = by_id_.find(request.id);
  bool const is_it = found != by_id_.end() && (*found)->counted().serial() == request.serial;
  return is_it ? *found : nullptr;
}

RelayedRequest const* LiveRequests::find(std::string_view id) const {
  auto const found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : *found;
}

void LiveRequests::each(std::function<void(RelayedRequest&)> const& call) const {
  std::vector<std::string> ids;
  for (RelayedRequest const* const request : by_id_) {
    ids.emplace_back(ById::id(request));
  }
  for (std::string const& id : ids) {
    auto const found = by_id_.find(id);
    if (found != by_id_.end()) {
      call(**found);
    }
  }
}

std::uint64_t LiveRequests::serial_of(std::string_view id) const {
  auto const found = by_id_.find(id);
  return found == by_id_.end() ? 0 : (*found)->counted().serial();
}

void LiveRequests::adopt(std::unique_ptr<ClientRequest> request) {
  ClientRequest* const key = request.get();
  orphans_.emplace(key, std::move(request));
}

std::unique_ptr<ClientRequest> LiveRequests::release(ClientRequest& request) {
  auto const found = orphans_.find(&request);
  std::unique_ptr<ClientRequest> owned = std::move(found->second);
  orphans_.erase(found);
  return owned;
}

}  // namespace lastcall::ingress
