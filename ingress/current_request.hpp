// The request that a client's connection serves now, if there is one: its head is read, who may
// send it is decided, and its owner is kept until it ends.
//
// Thread rule: the loop's thread. Source: docs/ingress.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "ingress/address_limit.hpp"
#include "ingress/client_request.hpp"
#include "relay/request_reader.hpp"

namespace lastcall::ingress {

struct ClientParts;

/// The facts about a client that all its requests share.
struct ClientPeer {
  bool is_proxy = false;              // whether its fields about its clients are trusted
  std::uint32_t place = 0;            // among all, in parts of 2^32: when it is closed in a drain
  std::chrono::milliseconds since{};  // when it connected; zero once a request has come
  AddressLimit::Place of_address;
  std::string address;
};

class CurrentRequest {
 public:
  explicit CurrentRequest(ClientPeer peer) : peer_(std::move(peer)) {}

  explicit operator bool() const { return request_ != nullptr; }
  ClientRequest* operator->() const { return request_.get(); }
  std::string const& address() const { return peer_.address; }
  RequestClient facts(RequestOwner& owner) const;
  /// Whether the client has connected a moment ago, so that its first request is on its way.
  bool is_on_its_way() const;

  /// Reads the head at the start of `bytes` and, once it is complete, begins its request, which
  /// may end before this returns. The head, or why it is refused, is in ClientParts::taken.
  relay::RequestReader::Found begin(std::string_view bytes, ClientParts& parts,
                                    RequestOwner& owner);
  /// No request is served any more.
  std::unique_ptr<ClientRequest> take_out() { return std::move(request_); }

 private:
  bool serve(ClientParts& parts, RequestOwner& owner);

  ClientPeer peer_;
  relay::RequestReader reader_;
  std::unique_ptr<ClientRequest> request_;
};

}  // namespace lastcall::ingress
