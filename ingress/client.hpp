// A client: the requests that come on its connection, one at a time.
//
// Invariants:
//  1. One request at a time; bytes that come after it wait in the connection.
//  2. The connection's end, its reset, or (for a request that counts) the end of the client's
//     output is noticed while the engine is silent.
//  3. A request that has come is answered before its connection ends, or refused with words.
//
// client.cpp has its requests; client_end.cpp has how it ends and makes room for others.
// Thread rule: the loop's thread. Source: docs/ingress.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "ingress/client_connection.hpp"
#include "ingress/client_request.hpp"
#include "ingress/current_request.hpp"
#include "ingress/listener.hpp"
#include "ingress/memory_budget.hpp"
#include "ingress/seats.hpp"
#include "relay/refusal.hpp"

namespace lastcall::ingress {

class Client;
struct ClientParts;

/// The owner of clients.
class ClientOwner {
 public:
  ClientOwner() = default;
  ClientOwner(ClientOwner const&) = delete;
  ClientOwner& operator=(ClientOwner const&) = delete;

  virtual void closed(Client& client) = 0;
  /// Memory is scarce, so connections must be closed.
  virtual void shed_soon() = 0;

 protected:
  ~ClientOwner() = default;
};

class Client final : public ConnectionOwner, private RequestOwner, public Seated {
 public:
  Client(ClientParts& parts, ClientOwner& owner, Accepted accepted);

  void ready(std::uint32_t events) override;
  std::string_view kind() const override { return "ingress_client"; }
  void expired(Wait wait) override;

  /// Refuses what has no request; nothing that follows on this connection is served. `linger` is
  /// how long the client has to read the refusal.
  void refuse(relay::Refusal const& refusal, Wait linger = Wait::linger, bool head_only = false);
  void check_passed(std::chrono::milliseconds since);
  /// A connection without a request is closed soon; a request that is on its way is still answered.
  void part_soon();
  /// The process ends: what cannot be served any more is answered at once. A client whose first
  /// request is on its way stays, so this is repeated until is_flushed().
  void part_now();
  /// Whether nothing is left to be done for the client: everything is written, no request is
  /// awaited, and the client does not send on after its answer.
  bool is_flushed() const;
  void close() override;

  // Room for others.
  /// Closes the connection for the sake of another one, if it has no request. Returns false if it
  /// has one.
  bool give_way();
  /// The number of bytes that it holds only because its client is slow, or sent too much.
  std::size_t dead_weight() const;
  /// Closes the connection to make room for others. The client is notified if that costs nothing.
  void shed();

 private:
  // ConnectionOwner
  bool wants_input() const override;
  std::size_t use(std::span<char> bytes) override;
  void kept() override;
  void input_over(Io why) override;
  void lost() override;
  void written() override;

  // RequestOwner
  RequestClient facts() override { return request_.facts(*this); }
  void ended(relay::After after) override;
  std::unique_ptr<ClientRequest> give_up_request() override;
  void weigh() override;

  bool is_idle() const;
  void part();

  ClientParts& parts_;
  ClientOwner& owner_;
  ClientConnection connection_;
  CurrentRequest request_;
  Charge charge_;  // for unread and unwritten bytes
};

}  // namespace lastcall::ingress
