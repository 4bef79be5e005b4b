// The request that one connection of a client serves at a time, however it is answered.
//
// Rules:
//  1. The connection owns it until it calls RequestOwner::ended() or give_up_request(), once.
//  2. It is freed after the turn in which it ended.
//
// Thread rule: the thread of the client's connection. Source: docs/ingress.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "core/vocabulary.hpp"
#include "ingress/deadlines.hpp"
#include "ingress/poller.hpp"
#include "relay/exchange.hpp"
#include "relay/refusal.hpp"
#include "relay/request_reader.hpp"

namespace lastcall::ingress {

class ClientConnection;
class ClientRequest;
struct RequestClient;

/// The client as its request sees it.
class RequestOwner {
 public:
  /// `connection` need not exist yet.
  explicit RequestOwner(ClientConnection& connection) : connection_(connection) {}
  RequestOwner(RequestOwner const&) = delete;
  RequestOwner& operator=(RequestOwner const&) = delete;

  ClientConnection& connection() const { return connection_; }
  virtual RequestClient facts() = 0;
  /// The request has ended.
  virtual void ended(relay::After after) = 0;
  /// The request continues without a client: the connection is closed, and the caller owns the
  /// request.
  virtual std::unique_ptr<ClientRequest> give_up_request() = 0;
  virtual void weigh() = 0;

 protected:
  ~RequestOwner() = default;

 private:
  ClientConnection& connection_;
};

/// Facts about the connection that a request came on; the views are valid as long as `owner`.
struct RequestClient {
  RequestOwner& owner;
  std::string_view address;
  std::string_view scheme;
  bool is_proxy = false;  // whether its fields about its clients are trusted
  std::uint32_t place = 0;
};

class ClientRequest : public Buried {
 public:
  /// Takes what is needed from the head of a request that will be answered.
  virtual void prepare(relay::TakenHead const& taken, RequestClient const& client) = 0;
  /// Begins if the request is complete.
  virtual void start() = 0;
  /// Refuses the request instead of sending a response; nothing was sent yet.
  virtual void refuse(relay::Refusal const& refusal) = 0;
  /// Whether the request is work, and does not only read.
  virtual bool counts() const = 0;

  /// Handles bytes of a body or a tunnel, and returns how many were used.
  virtual std::size_t take(std::span<char> bytes) = 0;
  virtual bool takes_body() const = 0;
  virtual bool wants_input() const { return takes_body(); }
  virtual bool is_tunnel() const { return false; }
  /// Whether the client may still send its body, and has nothing of a response.
  bool awaits_body() const { return takes_body() && has_sent_nothing(); }
  /// Whether a client that ends its output before the end of its response counts as gone.
  virtual bool needs_its_client() const = 0;
  virtual bool has_sent_nothing() const = 0;
  /// The number of bytes of an incomplete body that wait to be passed on.
  virtual std::size_t unfinished() const = 0;

  virtual void client_ended_tunnel() {}
  /// `has_taken_all`: the client has read everything that was sent.
  virtual void client_left(bool has_taken_all) = 0;
  /// The client has read everything that had been written for it.
  virtual void flushed() = 0;
  /// The deadline that the request had set for the client's connection has passed.
  virtual void expired(Wait wait) = 0;
  /// The connection to the engine that the request waits for cannot be made.
  virtual void connect_failed() = 0;
  /// Every check of the engine that began at `since` or later has passed.
  virtual void check_passed(std::chrono::milliseconds /*since*/) {}
  virtual void break_off(relay::Refusal const& refusal, lifecycle::Outcome outcome) = 0;
  /// Ends the request with its connection, to make room for others.
  virtual void shed() = 0;
  /// The connection is closed, so no client is notified.
  virtual void abandon() = 0;
  /// Charges the bytes that it holds now, except for those that its client charges.
  virtual void weigh() {}
  /// The number of bytes that its client charges.
  virtual std::size_t held() const { return 0; }
};

/// Makes the requests of the clients of one front.
class RequestMaker {
 public:
  RequestMaker() = default;
  RequestMaker(RequestMaker const&) = delete;
  RequestMaker& operator=(RequestMaker const&) = delete;

  /// `is_closed`: the request will only be refused; `is_control`: its path controls the engine.
  virtual std::unique_ptr<ClientRequest> make(RequestClient const& client,
                                              relay::TakenHead const& taken, bool is_closed,
                                              bool is_control) = 0;

 protected:
  ~RequestMaker() = default;
};

}  // namespace lastcall::ingress
