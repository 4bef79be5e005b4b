#include "core/cut_requests.hpp"

#include <array>
#include <utility>

namespace lastcall::lifecycle {
namespace {

/// Whether the request may be a part of the cut one: false if it is known to have come another way.
bool may_be_part(RequestBegun const& request, Cut const& cut) {
  return !cut.relayed || !request.way || (*request.way != 0 && *request.way == cut.way);
}

}  // namespace

void CutRequests::ended(Instant now, std::string_view id, Cut const& cut) {
  expire(now);
  auto const found = by_id_.find(id);
  if (found != by_id_.end() && found->second.cut.relayed && !cut.relayed) {
    return;  // this is its part in the engine; the record of the relayed request has more
  }
  Instant const until = now + kMemory;
  by_id_.insert_or_assign(std::string(id), Known{cut, until});
  due_.push_back({until, std::string(id)});
  if (due_.size() > kMost) {
    Due const oldest = std::move(due_.front());
    due_.pop_front();
    if (auto const at = by_id_.find(oldest.id);
        at != by_id_.end() && at->second.until == oldest.until && oldest.id != id) {
      by_id_.erase(at);
    }
  }
}

std::optional<Cut> CutRequests::begun(Instant now, RequestBegun const& request) {
  if (by_id_.empty()) {
    return std::nullopt;
  }
  if (request.peer == kIngressPeer) {
    forget(request.id);
    return std::nullopt;
  }
  if (Cut const* own = find(now, request.id)) {
    if (own->relayed && may_be_part(request, *own)) {
      return *own;
    }
    if (!own->relayed) {
      forget(request.id);
    }
  }
  for (std::string const* name : std::array{&request.parent, &request.root}) {
    Cut const* const above = *name == request.id ? nullptr : find(now, *name);
    if (above != nullptr && may_be_part(request, *above)) {
      return *above;
    }
  }
  return std::nullopt;
}

Cut const* CutRequests::find(Instant now, std::string_view id) const {
  auto const found = by_id_.find(id);
  return found == by_id_.end() || now >= found->second.until ? nullptr : &found->second.cut;
}

void CutRequests::forget(std::string_view id) {
  if (auto const found = by_id_.find(id); found != by_id_.end()) {
    by_id_.erase(found);
  }
}

void CutRequests::expire(Instant now) {
  while (!due_.empty() && now >= due_.front().until) {
    auto const found = by_id_.find(due_.front().id);
    if (found != by_id_.end() && found->second.until == due_.front().until) {
      by_id_.erase(found);
    }
    due_.pop_front();
  }
}

}  // namespace lastcall::lifecycle
