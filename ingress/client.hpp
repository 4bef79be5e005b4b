// One connection of a client: bytes in and out, one request at a time, and its end.
//
// Invariants:
//  1. One request at a time; bytes that come after it wait here.
//  2. The connection's end, its reset, or (for a request that counts) the end of the client's
//     output is noticed while the engine is silent.
//  3. Reading stops while bytes that were read are not consumed, so that there is back-pressure in
//     both directions.
//  4. It is not closed while bytes are unread, because that would reset it and lose the last bytes
//     sent.
//
// client.cpp has bytes and heads; client_end.cpp has how the connection ends and makes room for
// others.
// Thread rule: the loop's thread. Source: docs/ingress.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ingress/client_request.hpp"
#include "ingress/deadlines.hpp"
#include "ingress/listener.hpp"
#include "ingress/memory_budget.hpp"
#include "ingress/poller.hpp"
#include "ingress/seats.hpp"
#include "ingress/socket.hpp"
#include "ingress/tls.hpp"
#include "relay/control_paths.hpp"
#include "relay/refusal.hpp"
#include "relay/request_reader.hpp"

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

class Client final : public Watched, public DeadlineOwner, private RequestOwner, public Seated {
 public:
  Client(ClientParts& parts, ClientOwner& owner, Accepted accepted);

  void ready(std::uint32_t events) override;
  std::string_view kind() const override { return "ingress_client"; }
  void expired(Wait wait) override;

  void refuse_connection(relay::Refusal const& refusal);
  void check_passed(std::chrono::milliseconds since);
  /// A connection without a request is closed soon; a request that is on its way is still answered.
  void part_soon();
  /// The process ends: what cannot be served any more is answered at once.
  void part_now();
  bool is_flushed() const override { return out_.empty(); }
  void close();

  // Room for others.
  /// Closes the connection for the sake of another one, if it has no request. Returns false if it
  /// has one.
  bool give_way();
  /// The number of bytes that it holds only because its client is slow, or sent too much.
  std::size_t dead_weight() const;
  /// Closes the connection to make room for others. The client is notified if that costs nothing.
  void shed();

 private:
  // RequestOwner
  void write(std::string_view bytes) override;
  bool is_closed() const override { return dead_; }
  void wait_for(Wait wait) override;
  void wait_for_nothing() override { deadline_.disarm(); }
  void read_more() override;
  void read_kept() override;
  void drop_output(bool reset) override;
  void ended(relay::After after) override;
  std::unique_ptr<ClientRequest> give_up_request() override;
  void weigh() override;

  // client.cpp
  IoResult receive(std::span<char> into);
  IoResult send(std::string_view bytes);
  bool has_left() const;
  void broke();
  void pump();
  bool wants_input() const;
  void input(std::span<char> bytes);
  void forget_read(std::size_t used);
  std::size_t consume(std::span<char> bytes);
  std::size_t take_head(std::span<char> bytes);
  bool begin(relay::TakenHead const& taken);
  bool may_control(relay::RequestHead const& head, std::string_view target,
                   relay::ControlPaths::Decision const& decision);
  void flush();
  void read_on();

  // client_end.cpp
  bool is_idle() const;
  void lost();
  void refuse_early(unsigned status, std::string_view what, bool head_only = false);
  void refuse_as(relay::Refusal const& refusal, bool head_only = false);
  void part();
  void end_connection(relay::After end);

  Socket socket_;
  ClientParts& parts_;
  ClientOwner& owner_;
  std::unique_ptr<TlsSession> tls_;  // absent if it speaks plain HTTP
  AddressLimit::Place const of_address_;
  std::string address_;
  bool const is_proxy_;  // whether its fields about its clients are trusted
  std::uint32_t const place_;
  std::string in_;   // bytes that were read and not used yet
  std::string out_;  // bytes that were not written to the socket yet
  std::size_t out_at_ = 0;
  relay::RequestReader reader_;
  std::unique_ptr<ClientRequest> request_;
  Deadline deadline_{*this};
  std::chrono::milliseconds lingers_since_{};
  Wait last_wait_ = Wait::linger;
  relay::After end_ = relay::After::keep;
  bool readable_ = false;
  bool half_closed_ = false;
  bool lingering_ = false;
  bool consuming_ = false;
  bool dead_ = false;
  Charge charge_;  // for unread and unwritten bytes
};

}  // namespace lastcall::ingress
