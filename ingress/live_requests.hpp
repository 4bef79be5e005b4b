// The requests of one proxy that are under way, by their ids.
//
// Invariants:
//  1. An id belongs to one live request of all proxies; a second one gets a suffix.
//  2. A request that its client has left to the engine is owned here until it ends.
//
// Thread rule: the proxy's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "ingress/request_id.hpp"

namespace lastcall::ingress {

class ClientRequest;
class RelayedRequest;

/// The core's name for a request: ids are reused, serials are not.
struct Request {
  std::string id;
  std::uint64_t serial = 0;  // the serial of Begun
};

/// The ids that proxies of the same tracker share.
class SharedIds {
 public:
  SharedIds() = default;
  SharedIds(SharedIds const&) = delete;
  SharedIds& operator=(SharedIds const&) = delete;
  virtual ~SharedIds() = default;

  /// Like LiveIds.
  virtual std::string claim(std::string_view wanted, bool keep) = 0;
  virtual void release(std::string_view id) = 0;
};

class LiveRequests {
 public:
  /// `shared` is absent if there is no other proxy.
  LiveRequests(SharedIds* shared, std::uint64_t first_serial);
  ~LiveRequests();

  /// Returns the wanted id if it is valid. `keep`: the id is reserved until leave().
  std::string unique_id(std::string_view wanted, bool keep);
  std::uint64_t next_serial() { return ++last_serial_; }
  /// The value of RequestBegun::way, which no client can guess.
  std::uint64_t draw_way() { return ids_.draw(); }

  void enter(RelayedRequest& request) { by_id_.insert(&request); }
  void leave(std::string_view id);
  /// The request with this id and serial; absent if it has ended.
  RelayedRequest* find(Request const& request) const;
  /// The request that has this id now.
  RelayedRequest const* find(std::string_view id) const;
  /// Calls the function for each present request; it may end others.
  void each(std::function<void(RelayedRequest&)> const& call) const;
  /// The serial of the request that has this id now; 0 if there is none that asked for its place.
  std::uint64_t serial_of(std::string_view id) const;

  /// Adds a request without a client.
  void adopt(std::unique_ptr<ClientRequest> request);
  std::unique_ptr<ClientRequest> release(ClientRequest& request);

 private:
  /// Hashes and compares requests by their ids.
  struct ById {
    using is_transparent = void;
    static std::string_view id(std::string_view id) { return id; }
    static std::string_view id(RelayedRequest const* request);
    std::size_t operator()(auto const& one) const { return std::hash<std::string_view>{}(id(one)); }
    bool operator()(auto const& one, auto const& other) const { return id(one) == id(other); }
  };

  SharedIds* const shared_;
  RequestIds ids_;
  std::unordered_set<RelayedRequest*, ById, ById> by_id_;
  std::unordered_map<ClientRequest*, std::unique_ptr<ClientRequest>> orphans_;
  std::uint64_t last_serial_;
};

}  // namespace lastcall::ingress
